"""Going to a tab, also where it has moved into the menu of a narrow window."""


def go(user, name: str, root: str) -> None:
    tab = user.page.locator(".ss-tabs [role=tab]", has_text=name)
    if tab.count() and tab.first.is_visible():
        tab.first.click()
    else:
        user.page.locator(".ss-tabs .overflow-menu > button").first.click()
        user.page.locator(".ss-tabs .overflow-dropdown button", has_text=name).first.click()
    user.page.wait_for_selector(f"{root} .ss-explain", timeout=20_000)


def number(user, selector: str, name: str) -> float:
    return float(user.page.locator(selector).first.get_attribute(name))
