"""The page in a browser: predictions, learning, the tree, keyboard, dark mode and phones."""

from __future__ import annotations

import numpy as np
import pytest
from tests.serve.browser import Looking, chromium
from tests.serve.conftest import FRUIT, serving

import labeltrees
from labeltrees import store
from labeltrees.client import Client
from labeltrees.progress import Progress
from labeltrees.serve.learning.folder import ModelFolder
from labeltrees.serve.learning.new_models import demo_model, new_model
from labeltrees.serve.web.access import Keys
from labeltrees.serve.wire import NewModel

pytestmark = pytest.mark.thorough

CODE = "import os\n\nfor name in os.listdir(folder):\n    path = os.path."
TABS = ("predict", "tree", "quality")
# Some versions of axe take this rule for an experiment.
AXE_OPTIONS = {"rules": {"label-content-name-mismatch": {"enabled": True}}}


@pytest.fixture(scope="module")
def browser():
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    place = tmp_path_factory.mktemp("page")
    X, Y = np.eye(6), [["a"], ["b"], ["a", "b"]] * 2
    labeltrees.ExtremeRegressor().fit(X, Y).save(place / "batch")
    table = np.random.default_rng(0).normal(size=(90, 3)) + 4 * np.eye(3)[np.arange(90) % 3]
    labeltrees.OneAgainstAllClassifier().fit(table, np.arange(90) % 3).save(place / "rivals")
    folder = ModelFolder(place / "folder")
    folder.add("demo", demo_model(Progress("learning", enabled=False), 20_000))
    folder.add("fruit", new_model(NewModel("text")))
    folder.add("things", new_model(NewModel("features")))
    folder.add("batch", store.read(place / "batch"))
    folder.add("rivals", store.read(place / "rivals"))
    with serving(folder) as (address, _):
        with Client(address) as client:
            client.model("fruit").learn(FRUIT * 10)
        yield address + "/"


@pytest.fixture
def look(browser, url):
    """Open a tab of a model; errors in the page fail the test."""
    opened = []

    def open_page(model="demo", tab="predict", **options):
        opened.append(Looking(browser, f"{url}#{model}/{tab}", **options))
        found = opened[-1]
        found.foreign = [each for each in found.foreign if not each.startswith(url)]
        found.until(f"document.getElementById('model').value === '{model}'")
        return found

    yield open_page
    for each in opened:
        assert each.errors == []
        assert [foreign for foreign in each.foreign if not foreign.startswith(url)] == []
        each.context.close()


def shown(found, condition):
    found.until(f"document.querySelectorAll('#bars li').length && ({condition})")


def test_completions_follow_the_typed_code_and_are_inserted_by_keyboard(look):
    found = look()
    shown(found, "true")
    found.page.fill("#input", "import os\n\nos.pa")
    shown(found, "document.querySelector('#bars .name').textContent.startsWith('pa')")
    assert all(name.startswith("pa") for name in found.bars())
    first = next(iter(found.bars()))
    found.page.press("#input", "Control+Space")
    assert found.page.input_value("#input") == f"import os\n\nos.{first}"
    found.page.press("#input", "End")
    found.page.type("#input", "\nimport ")
    shown(found, "!document.querySelector('#bars-note').textContent.includes('begin')")


def test_a_learned_label_rises_and_shows_the_change(look):
    found = look()
    found.page.fill("#input", CODE)
    shown(found, "true")
    before = next(iter(found.bars()))
    found.page.fill("#correct-label", "a_name_never_seen")
    found.page.select_option("#times", "20")
    found.page.press("#correct-label", "Enter")
    found.until("document.getElementById('learn-report').textContent.includes('now')")
    assert "is a new label" in found.text("#learn-report")
    after = found.bars()
    assert next(iter(after)) == "a_name_never_seen" != before
    assert found.page.locator(".moved.up").first.text_content().startswith("+")
    assert found.page.locator("#bars .was:visible").count() >= 1
    found.until("document.querySelector('#new-labels').textContent.includes('a_name_never_seen')")
    found.until("document.getElementById('facts').textContent.includes('20 examples')")
    assert found.text("#why-title") == "Why a_name_never_seen?"


def test_the_explanation_has_a_path_and_features(look):
    found = look("fruit")
    found.page.fill("#input", "small and blue")
    shown(found, "document.querySelector('#bars .name').textContent === 'plum'")
    found.page.get_by_role("button", name="Why plum?").click()
    found.until("document.getElementById('why-title').textContent === 'Why plum?'")
    words = found.page.locator("#why-content .words code").all_text_contents()
    assert {"blue", "small"} <= set(words)
    assert found.page.locator("#why-content .path li").count() >= 1


def test_a_new_model_learns_from_features(look, url):
    found = look()
    found.page.click("#new-model")
    found.page.fill("#new-name", "a b")
    found.page.press("#new-name", "Enter")
    found.until("document.getElementById('new-wrong').textContent")
    found.page.fill("#new-name", "fresh")
    found.page.select_option("#new-learns", "features")
    found.page.press("#new-name", "Enter")
    found.until("document.getElementById('model').value === 'fresh'")
    found.until("document.getElementById('bars-note').textContent.includes('no label yet')")
    found.page.fill("#input", "height: 1.5\nround")
    found.page.wait_for_timeout(300)
    found.page.fill("#correct-label", "ball")
    found.page.click("#learn-button")
    shown(found, "document.querySelector('#bars .name').textContent === 'ball'")
    found.page.fill("#input", "height: tall")
    found.until("document.getElementById('input-wrong').textContent.includes('not a number')")
    found.page.click("#learn-button")
    found.until("document.getElementById('learn-report').textContent.includes('did not learn')")
    found.page.fill("#input", "deep")
    found.page.fill("#correct-label", "hole")
    found.page.click("#learn-button")  # before the prediction, so the newest input is learned
    found.until("document.getElementById('learn-report').textContent.includes('hole')")
    with Client(url.rstrip("/")) as client:
        assert (
            client.model("fresh").predict([{"features": {"deep": 1}}]).rows[0].labels[0] == "hole"
        )
        assert client.send("GET", "/v1/models/fresh")["seq"] == 2


def test_a_multi_label_model_learns_several_labels_together(look, url):
    with Client(url.rstrip("/")) as client:
        client.model("tags").put({"learns": "text", "method": "multilabel"})
        tags = [{"text": "wet", "labels": ["rain"]}, {"text": "cold", "labels": ["snow", "ice"]}]
        client.model("tags").learn(tags * 20)
    found = look("tags")
    found.page.fill("#input", "wet and cold")
    shown(found, "document.querySelectorAll('#bars li').length === 3")
    found.page.fill("#correct-label", "rain, snow")
    found.page.press("#correct-label", "Enter")
    found.until("document.getElementById('learn-report').textContent.includes('“snow”')")
    assert "“rain”" in found.text("#learn-report")
    assert "The tree predicts" in found.text("#why-content")
    assert "NaN" not in found.text("#why-content")


def test_the_tree_opens_closes_zooms_and_finds_a_label(look):
    found = look(tab="tree")
    found.page.wait_for_selector("#tree [role=treeitem]")
    rows = found.page.locator("#tree [role=treeitem]")
    assert rows.count() == 3
    rows.first.focus()
    for key in ("ArrowDown", "ArrowRight"):
        found.page.keyboard.press(key)
    found.until("document.querySelectorAll('#tree [role=treeitem]').length === 5")
    found.page.keyboard.press("ArrowLeft")
    found.until("document.querySelectorAll('#tree [role=treeitem]').length === 3")
    found.page.keyboard.press("Enter")
    found.until("document.querySelectorAll('#crumbs li').length === 2")
    found.page.locator("#icicle .box").nth(1).click()
    found.until("document.querySelectorAll('#crumbs li').length === 3")
    found.page.locator("#crumbs button").first.click()
    found.until("document.querySelectorAll('#crumbs li').length === 1")
    found.page.fill("#search-text", "self")
    found.page.locator("#found button").first.click()
    found.until(
        "document.querySelector('#tree [aria-selected=true] .name')?.textContent === 'self'"
    )
    assert "of the examples" in found.text("#found-note")
    found.page.fill("#search-text", "no such label")
    found.until("document.getElementById('found-note').textContent.includes('No label contains')")


def test_quality_is_drawn_and_follows_updates_of_others(look, url):
    found = look(tab="quality")
    found.page.wait_for_selector("#curve canvas")
    found.page.wait_for_selector("#reliability canvas")
    before = found.text("#scores")
    with Client(url.rstrip("/")) as client:
        client.model("demo").learn([{"text": CODE, "label": "join"}] * 3)
    found.until(f"document.getElementById('scores').textContent.trim() !== {before!r}")


def test_models_without_a_capability_show_a_note(look):
    found = look("batch")
    shown(found, "true")
    assert "does not learn" in found.text("#cannot-learn")
    assert found.page.is_hidden("#learn")
    found.page.click("#tab-quality")
    found.until("!document.getElementById('no-quality').hidden")
    found.page.select_option("#model", "rivals")
    found.page.click("#tab-tree")
    found.until("document.getElementById('no-tree').textContent.includes('no single tree')")
    found.page.click("#tab-predict")
    assert "has no explanations" in found.text("#why-note")


def test_the_page_asks_for_a_key_and_reports_its_rights(browser, tmp_path):
    folder = ModelFolder(tmp_path / "folder")
    folder.add("fruit", new_model(NewModel("text")))
    keys = Keys(folder.path)
    reader, learner = keys.add("reader", "read"), keys.add("learner", "learn")
    with serving(folder) as (address, _):
        with Client(address, key=learner) as client:
            client.model("fruit").learn(FRUIT * 5)
        found = Looking(browser, address + "/")
        found.page.wait_for_selector("#key-dialog[open]")
        found.page.fill("#key-text", "lt_wrong")
        found.page.press("#key-text", "Enter")
        found.until("document.getElementById('key-wrong').textContent.includes('unknown')")
        found.page.fill("#key-text", reader)
        found.page.press("#key-text", "Enter")
        shown(found, "!document.getElementById('key-dialog').open")
        found.page.fill("#correct-label", "apple")
        found.page.click("#learn-button")
        found.until("document.getElementById('learn-report').textContent.includes('learn')")
        assert "right 'read'" in found.text("#learn-report")
        found.page.click("#key")
        found.page.fill("#key-text", learner)
        found.page.press("#key-text", "Enter")
        found.until("!document.getElementById('key-dialog').open")
        found.page.click("#learn-button")
        found.until("document.getElementById('learn-report').textContent.includes('now')")
        assert found.errors == []
        found.context.close()


def test_tabs_move_by_arrow_keys_and_the_address_keeps_them(look):
    found = look()
    shown(found, "true")
    found.page.focus("#tab-predict")
    found.page.keyboard.press("ArrowRight")
    assert found.page.is_visible("#panel-tree")
    assert found.page.url.endswith("#demo/tree")
    found.page.keyboard.press("End")
    assert found.page.is_visible("#panel-quality")
    found.page.reload()
    found.page.wait_for_selector("#curve canvas")


BACKGROUND = "getComputedStyle(document.body).backgroundColor"


def test_the_theme_is_that_of_the_system_and_can_be_switched(look):
    light, dark = look(), look(color_scheme="dark")
    colours = [each.page.evaluate(BACKGROUND) for each in (light, dark)]
    assert colours[0] != colours[1]
    for each in (light, dark):
        for expected, name in ((0, "light"), (1, "dark")):
            each.page.click("#theme")
            assert each.text("#theme") == f"Theme: {name}"
            assert each.page.evaluate(BACKGROUND) == colours[expected]
    dark.page.reload()
    assert dark.text("#theme") == "Theme: dark"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
def test_every_tab_fits_and_has_no_serious_accessibility_fault(look, scheme, width):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    found = look(color_scheme=scheme)
    found.page.set_viewport_size({"width": width, "height": 800})
    shown(found, "document.querySelector('.path li')")
    found.page.click("#learn-button")  # without a label, so that the message is checked too
    for tab in TABS:
        found.page.click(f"#tab-{tab}")
        found.page.wait_for_timeout(600)
        assert found.page.evaluate("document.documentElement.scrollWidth") <= width, tab
        faults = axe.run(found.page, options=AXE_OPTIONS).response["violations"]
        serious = [each for each in faults if each["impact"] in ("serious", "critical")]
        listed = [(each["id"], [n["target"] for n in each["nodes"]]) for each in serious]
        assert listed == [], (tab, listed)
