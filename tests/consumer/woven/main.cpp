long count_to(long last, bool& turned);

int main() {
    bool turned = false;
    return count_to(5, turned) == 5 && turned ? 0 : 1;
}
