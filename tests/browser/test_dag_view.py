"""The DAG view in a real browser: search, keyboard, blocks that open, what Python hears, telephones."""

import xml.etree.ElementTree as ET

import pytest
from browser_tools import downloaded, open_page, pick_model, wait_idle

from nona.scenario.sample_files import load_sample

pytestmark = [pytest.mark.browser, pytest.mark.verify]
BOX = "e => { const r = e.getBoundingClientRect(); return [r.x, r.y, r.width, r.height] }"
IN_CANVAS = """e => {
  const r = e.getBoundingClientRect(), c = e.closest("svg").getBoundingClientRect();
  return [r.x - c.x, r.y - c.y, r.width, r.height];
}"""


def drawn(page):
    return int(page.locator("g[data-id]:not(.gone)").count())


def chosen(page):
    return str(page.locator("g.chosen").get_attribute("data-id"))


def middle(page, what):
    x, y, w, h = page.locator(what).first.evaluate(BOX)
    return x + w / 2, y + h / 2


@pytest.fixture
def models_page(page):
    """The Models page with Llama 2, which is drawn by its modules."""
    open_page(page, "Models")
    pick_model(page, "llama2_7b")
    page.locator('g[data-id="block:model/layers/0/self_attn"]').wait_for()
    return page


def test_search_keyboard_and_blocks(models_page):
    page = models_page
    before = drawn(page)
    canvas = page.locator("svg.canvas")

    # Search: from the canvas by a key; matches inside a shut block count for the block.
    canvas.focus()
    page.keyboard.press("/")
    page.keyboard.type("layers.9.input pow")
    assert page.locator(".matches").inner_text() == "1 of 1"
    found = page.locator("g.current")
    assert found.get_attribute("data-id") == "block:model/layers/9/input_layernorm"
    stage, place = middle(page, ".stage"), middle(page, "g.current")
    assert abs(stage[0] - place[0]) < 3
    assert abs(stage[1] - place[1]) < 3
    page.keyboard.press("Enter")
    assert chosen(page) == "block:model/layers/9/input_layernorm"
    page.get_by_text("Block model.layers.9.input_layernorm").wait_for()  # Python heard of it

    # The block opens in place by Enter on the canvas, and the search goes on in what it held.
    canvas.focus()
    page.keyboard.press("Enter")
    page.locator('g[data-id^="model.layers.9.input_layernorm"]').first.wait_for()
    graph = load_sample("llama2_7b")
    inside = {o.id for o in graph.operators if o.scope.startswith("model.layers.9.input_layernorm")}
    wait_idle(page)
    assert drawn(page) == before - 1 + len(inside)
    assert page.locator(".matches").inner_text() == "1 found"
    page.locator(".finder input").press("Escape")
    assert page.locator(".matches").inner_text() == ""

    # Arrow keys walk along edges of the graph.
    page.locator("g.chosen").wait_for()
    own = chosen(page)
    assert own in inside
    page.keyboard.press("ArrowDown")
    after = chosen(page)
    assert graph.index[after] in graph.dag.successors[graph.index[own]]
    page.keyboard.press("ArrowUp")
    assert graph.index[chosen(page)] in graph.dag.predecessors[graph.index[after]]
    assert "Inputs" in page.locator(".unseen").inner_text()
    page.get_by_text("read,").wait_for()  # the panel follows when the keys rest

    # Shut again; the keys' list; the picture.
    canvas.focus()
    page.keyboard.press("Backspace")
    page.locator('g[data-id="block:model/layers/9/input_layernorm"]').wait_for()
    wait_idle(page)
    assert drawn(page) == before
    canvas.focus()
    page.keyboard.press("?")
    assert page.locator(".help").is_visible()
    page.keyboard.press("Escape")
    assert not page.locator(".help").is_visible()
    picture = downloaded(page, "Save the picture as SVG").decode()
    words = {t.text for t in ET.fromstring(picture).iter("{http://www.w3.org/2000/svg}text")}
    assert {"self_attn", "Gather"} <= words
    assert "var(" not in picture
    assert "color-mix" not in picture


def shows(page, name):
    """Wait until the page shows that sample: its figures and its graph."""
    count = f"{len(load_sample(name).operators):,}"
    page.get_by_test_id("stMetricValue").get_by_text(count, exact=True).first.wait_for()
    own = load_sample(name).operators[0].id
    page.locator(f'g[data-id="{own}"], g[data-id^="block:"]').first.wait_for()
    wait_idle(page)
    page.get_by_test_id("stMain").evaluate("e => e.scrollTo(0, 0)")  # a click on an option may have scrolled


def covered(page):
    """How much of the view the drawing covers, in the dimension of which it covers more."""
    left, top, width, height = page.locator(".stage").evaluate(BOX)
    boxes = page.locator("g[data-id]:not(.gone) > rect:first-child").evaluate_all(f"es => es.map({BOX})")
    spans = [
        (max(x + w for x, _, w, _ in boxes), min(x for x, *_ in boxes), left, width),
        (max(y + h for _, y, _, h in boxes), min(y for _, y, *_ in boxes), top, height),
    ]
    return max((min(high, begin + size) - max(low, begin)) / size for high, low, begin, size in spans)


def test_a_graph_opens_as_a_whole_at_the_height_of_the_window(page):
    page.set_viewport_size({"width": 1280, "height": 800})
    open_page(page, "Models")
    for name in ("moe_block", "gpt2", "densenet121", "llama2_7b", "slides_example", "depth_recognition"):
        pick_model(page, name)
        shows(page, name)
        assert covered(page) > 0.6, name
        assert not page.locator(".minimap").is_visible(), "all of it is in view"
        assert page.locator(".stage").evaluate("e => e.clientHeight") > 380
        _, top, _, height = page.locator(".dagview").evaluate(BOX)
        assert 760 < top + height <= 800, "the graph ends where the window ends"
        side, _, width, _ = page.locator(".st-key-beside-model-graph").evaluate(BOX)
        left, _, wide, _ = page.locator(".dagview").evaluate(BOX)
        assert left + wide <= side
        assert side + width <= 1280
    for _ in range(4):
        page.get_by_role("button", name="Zoom in").click()
    page.locator(".minimap").wait_for()
    before = page.locator(".minimap .frame").get_attribute("x")
    page.locator(".minimap").click(position={"x": 20, "y": 20})
    assert page.locator(".minimap .frame").get_attribute("x") != before, "a click looks there"


def test_a_graph_is_looked_at_where_one_left_it(page):
    open_page(page, "Models")
    pick_model(page, "googlenet")
    node = page.locator(f'g[data-id="{load_sample("googlenet").operators[40].id}"]')
    page.locator("svg.canvas").focus()
    for _ in range(4):
        page.keyboard.press("+")
    page.keyboard.press("Shift+ArrowUp")
    page.wait_for_timeout(500)  # the view has moved, and is kept
    left = node.evaluate(IN_CANVAS)
    pick_model(page, "resnet18")
    assert covered(page) > 0.6
    pick_model(page, "googlenet")
    assert node.evaluate(IN_CANVAS) == pytest.approx(left, abs=2)
    page.reload()
    node.wait_for()
    wait_idle(page)
    assert node.evaluate(IN_CANVAS) == pytest.approx(left, abs=2)
    page.get_by_role("button", name="Fit to view").click()
    assert covered(page) > 0.6
    assert node.evaluate(IN_CANVAS)[2] < left[2]


@pytest.mark.parametrize("page", ["dark"], indirect=True)
def test_a_telephone_shows_names_that_can_be_read(page):
    open_page(page, "Models")
    pick_model(page, "googlenet")
    page.set_viewport_size({"width": 400, "height": 850})
    page.wait_for_function("() => innerWidth === 400")
    node = page.locator(f'g[data-id="{load_sample("googlenet").operators[0].id}"]')
    node.wait_for()
    wait_idle(page)
    node.evaluate("e => e.scrollIntoView({ block: 'center' })")
    assert node.locator("rect").first.evaluate(BOX)[2] >= 0.55 * 104  # nodes are 104 wide at full size
    columns = {round(g[0]) for g in page.locator("g[data-id] > rect").evaluate_all(f"es => es.map({BOX})")}
    left, _, width, _ = page.locator(".stage").evaluate(BOX)
    assert left >= 0
    assert left + width <= 400
    assert any(left <= x <= left + width for x in columns)
    for control in page.locator(".dagview button:visible, .dagview input:visible").all():
        x, _, w, _ = control.evaluate(BOX)
        assert x >= left - 1
        assert x + w <= left + width + 1
