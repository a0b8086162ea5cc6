// The rows that the page speaks of: how one is picked or pasted, and what is answered.
// What is said of single rows: an explanation, a game with sliders, two rows side by side.
const state = { row: null, title: "", other: null, otherTitle: "", output: 0, vector: null, moved: null };

let explainHost, whatIfHost, compareHost;

function rowTitle(facts, i) {
  return `sample ${facts.rows.index[i]}`;
}

// The score that is worth explaining first: that of the class that is predicted, or that of it and the next best one.
function usualOutput(machine, row) {
  const { plain, engine } = machine;
  if (plain.task !== "classes" || !plain.two_dimensional) return 0;
  const best = plain.classes.indexOf(engine.predict(row));
  if (plain.combine !== "pairs") return best;
  const votes = engine.decision(row);
  const next = votes.map((_, k) => k).reduce((a, k) => (k !== best && (a < 0 || votes[k] > votes[a]) ? k : a), -1);
  const [a, b] = [Math.min(best, next), Math.max(best, next)];
  return (a * (2 * plain.classes.length - a - 1)) / 2 + b - a - 1; // pairs go (0, 1), (0, 2), ..., (1, 2), ...
}

function setRow(machine, row, title) {
  Object.assign(state, {
    row: row.slice(),
    title,
    vector: null,
    moved: row.slice(),
    output: usualOutput(machine, row)
  });
}

function truthOf(facts, title) {
  if (!facts.rows || !facts.rows.y) return null;
  const i = facts.rows.index.findIndex((n) => `sample ${n}` === title);
  return i < 0 ? null : facts.rows.y[i];
}

// Controls to pick one of the shipped rows or to paste one.
function rowPicker(machine, name, current, use) {
  const { facts } = machine,
    message = el("p", { role: "status", "aria-live": "polite", class: "warn" });
  const text = el("textarea", {
    "aria-label": `Paste a sample for ${name}`,
    placeholder: "Numbers parted by commas, tabs or spaces; a first line with names helps. JSON works, too.",
    id: `paste-${name}`
  });
  const pasted = () => {
    try {
      const row = parseRow(machine, text.value);
      message.textContent = "";
      use(row, "pasted sample");
    } catch (error) {
      message.textContent = error.message;
    }
  };
  const parts = [];
  if (machine.rows.length) {
    const place = Math.max(
      0,
      facts.rows.index.findIndex((n) => `sample ${n}` === current)
    );
    const box = el("input", {
      type: "number",
      min: 0,
      max: machine.rows.length - 1,
      step: 1,
      value: place,
      id: `pick-${name}`,
      "aria-describedby": `of-${name}`
    });
    const go = (i) => {
      const k = Math.max(0, Math.min(machine.rows.length - 1, Math.round(i) || 0));
      box.value = k;
      use(machine.rows[k], rowTitle(facts, k));
    };
    box.addEventListener("change", () => go(Number(box.value)));
    parts.push(
      el("label", { for: `pick-${name}` }, "Sample of this file"),
      box,
      el("span", { class: "soft", id: `of-${name}` }, `0 to ${machine.rows.length - 1}`),
      el("button", { type: "button", onclick: () => go(Number(box.value) - 1) }, "Previous"),
      el("button", { type: "button", onclick: () => go(Number(box.value) + 1) }, "Next")
    );
  }
  return el(
    "div",
    {},
    el("div", { class: "controls" }, parts),
    el(
      "details",
      { open: machine.rows.length === 0 },
      el("summary", {}, "Paste a sample"),
      text,
      el(
        "div",
        { class: "controls" },
        el("button", { type: "button", id: `use-${name}`, onclick: pasted }, "Use this sample"),
        copyButton("Copy the current row with names", () =>
          toCsv(
            machine.columns.map((column) => column.name),
            [machine.columns.map((column) => pastable(column, name === "B" ? state.other : state.row))]
          )
        )
      )
    ),
    message
  );
}

function answerBox(machine, row, title, truth) {
  const found = answer(machine, row),
    strange = strangeness(machine, row);
  return el(
    "div",
    {},
    el(
      "div",
      { class: "answer" },
      `${title}: ${found.text}`,
      el(
        "small",
        {},
        found.detail,
        machine.facts.refits ? surely(machine, row, found) : "",
        truth !== null && truth !== undefined ? `; true target: ${typeof truth === "number" ? fmt(truth) : truth}` : ""
      )
    ),
    strange.length
      ? el(
          "div",
          { class: "notice" },
          el("strong", {}, "▲ Unlike anything seen: "),
          strange.slice(0, 4).join("; "),
          strange.length > 4 ? ` and ${strange.length - 4} more` : "",
          ". Do not rely on the prediction."
        )
      : null
  );
}

function showRow(machine, row, title) {
  setRow(machine, row, title);
  drawAll();
  selectTab("explain");
}
