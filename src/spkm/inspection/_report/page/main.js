// Starting the page: tabs, the check of predictions, drawing again when the width changes.
const facts = unpacked(JSON.parse(document.getElementById("facts").textContent));
const machine = makeMachine(facts);
const panels = new Map();

// Scrolls the bar of tabs alone: scrollIntoView would move a page that this one is embedded in.
function showTab(tab) {
  const bar = document.getElementById("tabs"),
    around = bar.getBoundingClientRect(),
    box = tab.getBoundingClientRect();
  bar.scrollLeft += Math.min(0, box.left - around.left) + Math.max(0, box.right - around.right);
}

function selectTab(id, focus = true) {
  for (const [name, { tab, panel }] of panels) {
    tab.setAttribute("aria-selected", name === id ? "true" : "false");
    tab.tabIndex = name === id ? 0 : -1;
    panel.hidden = name !== id;
  }
  drawWhere((name) => name === id);
  if (focus) panels.get(id).tab.focus();
  showTab(panels.get(id).tab);
}

function addTab(id, title, content) {
  const panel = el(
    "section",
    { role: "tabpanel", id: `panel-${id}`, "aria-labelledby": `tab-${id}`, tabindex: "0", hidden: true },
    content
  );
  const tab = el(
    "button",
    {
      type: "button",
      role: "tab",
      id: `tab-${id}`,
      "aria-controls": `panel-${id}`,
      "aria-selected": "false",
      tabindex: "-1",
      onclick: () => selectTab(id)
    },
    title
  );
  document.getElementById("tabs").append(tab);
  document.getElementById("main").append(panel);
  panels.set(id, { tab, panel });
}

function moveBetweenTabs(event) {
  const names = [...panels.keys()],
    now = names.findIndex((name) => panels.get(name).tab === document.activeElement);
  if (now < 0) return;
  const next = {
    ArrowRight: (now + 1) % names.length,
    ArrowLeft: (now + names.length - 1) % names.length,
    Home: 0,
    End: names.length - 1
  }[event.key];
  if (next === undefined) return;
  event.preventDefault();
  selectTab(names[next]);
}

// What depends on the rows is drawn when somebody looks at it, or prints.
const stale = new Set();
const drawers = {
  explain: () => drawExplain(machine),
  "what-if": () => drawWhatIf(machine),
  compare: () => drawCompare(machine)
};

function drawWhere(wanted) {
  for (const name of [...stale]) {
    if (!wanted(name)) continue;
    stale.delete(name);
    drawers[name]();
  }
}

function drawAll() {
  if (machine === null) return;
  ["explain", "what-if", "compare"].forEach((name) => stale.add(name));
  drawWhere((name) => panels.has(name) && !panels.get(name).panel.hidden);
}

function rowTabs() {
  // Without samples the first row is a basis vector: the model's own idea of one.
  const first = machine.rows.length ? machine.rows[0] : atLevels(machine, facts.page.verify.rows[1]),
    last = machine.rows.length ? machine.rows[machine.rows.length - 1] : machine.background[0];
  const hasLevels = machine.columns.some((column) => column.options !== null),
    of = hasLevels ? "basis vector u0, at the nearest levels" : "basis vector u0";
  setRow(machine, first, machine.rows.length ? rowTitle(facts, 0) : of);
  Object.assign(state, {
    other: last.slice(),
    otherTitle: machine.rows.length ? rowTitle(facts, machine.rows.length - 1) : "median of every feature"
  });
  [explainHost, whatIfHost, compareHost] = [el("div"), el("div"), el("div")];
  const use = (row, title) => {
    setRow(machine, row, title);
    drawAll();
  };
  const paired = facts.pairs !== null;
  addTab("explain", paired ? "By features" : "Explain a sample", [
    el("h2", {}, "Why this prediction"),
    rowPicker(machine, "A", state.title, use),
    explainHost
  ]);
  addTab("what-if", paired ? "Other features" : "What if", [
    el("h2", {}, "What if a feature were different"),
    el(
      "p",
      {},
      "Move the sliders, which go as far as the samples do, and choose levels of categories. The prediction is computed here, by the model itself."
    ),
    whatIfHost
  ]);
  addTab("compare", "Two samples", [
    el("h2", {}, "Two samples side by side"),
    el("p", {}, "A is the sample of “Explain a sample”. Choose B:"),
    rowPicker(machine, "B", state.otherTitle, (row, title) => {
      Object.assign(state, { other: row.slice(), otherTitle: title });
      drawCompare(machine);
    }),
    compareHost
  ]);
  drawAll();
}

function tellVerified() {
  const line = document.getElementById("verified");
  if (machine === null && facts.pairs === null) {
    line.textContent =
      facts.model.n_read === 0
        ? "This model reads no feature: it predicts the same for every sample."
        : "This model is too large for a page, or of a kind that only Python knows: here it is shown, but not computed.";
    return;
  }
  const found = machine === null ? verifyPairs(facts.pairs) : verify(machine);
  line.className = found.good ? "good" : "warn";
  line.dataset.worst = String(found.worst);
  line.textContent = found.good
    ? `✓ The predictions of this page equal Python's on ${found.count} ${machine === null ? "pairs" : "samples"} (largest difference ${fmt(found.worst, 2)}).`
    : `▲ The predictions of this page differ from Python's by up to ${fmt(found.worst, 2)} on ${found.count} samples. Do not rely on “What if” and “Explain a sample”.`;
}

function build(selected) {
  panels.clear();
  document.getElementById("tabs").replaceChildren();
  document.getElementById("main").replaceChildren();
  addTab("overview", "Overview", overview(facts));
  addTab("quality", "Quality", qualitySection(facts));
  addTab("basis", "Basis vectors", [
    ...(facts.survival ? vectorCurves(facts) : []),
    ...basisSection(facts, machine)
  ]);
  if (facts.axis === null && facts.columns.length) addTab("features", "Features", featureSection(facts));
  if (facts.pairs) pairTabs(facts);
  if (machine !== null) rowTabs();
  addTab("checks", "Checks", checkSection(facts));
  drawEdited(machine);
  selectTab(selected, false);
}

// report.html#what-if opens with that tab.
const asked = location.hash.slice(1);
build("overview");
if (panels.has(asked)) selectTab(asked, false);
tellVerified();
document.getElementById("foot").textContent =
  `Made by spkm ${facts.versions.spkm}. No data leaves this page: it makes no requests.`;
document.getElementById("tabs").addEventListener("keydown", moveBetweenTabs);
window.addEventListener("beforeprint", () => drawWhere(() => true));
window.matchMedia("print").addEventListener("change", (event) => {
  if (event.matches) drawWhere(() => true);
});
let width = document.documentElement.clientWidth,
  timer = null;
window.addEventListener("resize", () => {
  clearTimeout(timer);
  timer = setTimeout(() => {
    if (Math.abs(document.documentElement.clientWidth - width) < 30) return;
    width = document.documentElement.clientWidth;
    const kept = { ...state },
      selected = [...panels.keys()].find((name) => !panels.get(name).panel.hidden);
    build(selected);
    if (machine !== null) {
      Object.assign(state, kept);
      drawAll();
    }
  }, 150);
});
