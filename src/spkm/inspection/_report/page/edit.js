// The model edited by hand: basis vectors are dropped or their weights pinned, and the other weights are solved again
// as spkm.explain.edited does, from sums over samples that Python made.
const RIDGE = 1e-6,
  TINY = 1e-300;

// The change of n weights for m scores that has the given rows and disturbs the scores least; a row of null is free.
function solvedChange(solved, M, given, m) {
  const free = given.flatMap((own, i) => (own === null ? [i] : [])),
    fixed = given.flatMap((own, i) => (own === null ? [] : [i])),
    found = given.map((own) => own || new Array(m).fill(0));
  for (let o = 0; free.length && o < m; o++) {
    const system = free.map((i) => [
      ...free.map((j) => M(i, j) + (i === j ? RIDGE * M(i, i) + TINY : 0)),
      -fixed.reduce((sum, j) => sum + M(i, j) * given[j][o], 0)
    ]);
    solved(system).forEach((value, k) => {
      found[free[k]][o] = value;
    });
  }
  return found;
}

// The model with given weights of some rows, and the root mean squared change of its scores.
function editedModel(machine, wanted) {
  const { plain, engine, facts } = machine;
  let first = 0,
    squares = 0,
    scores = 0;
  const members = plain.members.map((member, k) => {
    const { sums, intercept } = facts.page.edit.members[k],
      M = (i, j) => sums[(Math.max(i, j) * (Math.max(i, j) + 1)) / 2 + Math.min(i, j)],
      m = member.intercept.length,
      flat = member.terms.flatMap((term) =>
        term.weights.map((own) => ({ own, row: first++, isVector: term.name !== "linear part" }))
      ),
      vectors = flat.filter(({ isVector }) => isVector);
    scores += m;
    if (!vectors.some(({ row }) => wanted.has(row))) return member;
    const given = vectors.map(({ own, row }) => (wanted.has(row) ? wanted.get(row).map((c, o) => c - own[o]) : null)),
      change = solvedChange(engine.solved, M, [...given, intercept ? null : new Array(m).fill(0)], m),
      now = new Map(vectors.map(({ own, row }, i) => [row, wanted.get(row) || own.map((c, o) => c + change[i][o])]));
    for (let o = 0; o < m; o++)
      for (let i = 0; i < change.length; i++)
        for (let j = 0; j < change.length; j++) squares += change[i][o] * M(i, j) * change[j][o];
    let next = 0;
    return {
      ...member,
      intercept: member.intercept.map((b, o) => b + change[vectors.length][o]),
      terms: member.terms.map((term) => ({
        ...term,
        weights: term.weights.map(() => {
          const { own, row } = flat[next++];
          return now.get(row) || own;
        })
      }))
    };
  });
  return { engine: spkmModel({ ...plain, members }), change: Math.sqrt(Math.max(0, squares) / scores) };
}

// Whether some of the terms would have no vector left.
function leavesNone(machine, wanted) {
  let row = 0;
  return machine.plain.members.some((member) =>
    member.terms.some((term) => {
      const gone = term.weights.map(() => (wanted.has(row) ? wanted.get(row++).every((c) => c === 0) : !++row));
      return term.name !== "linear part" && gone.every((one) => one);
    })
  );
}

// How good a model is on the samples of the page with targets: names and values; none without such samples.
function qualityOf(machine, engine) {
  const { facts, rows, plain } = machine,
    y = facts.rows && facts.rows.y;
  if (!y || facts.survival || plain.task === "labels") return [];
  const mean = (values) => values.reduce((sum, v) => sum + v, 0) / values.length,
    found = rows.map((row) => engine.predict(row));
  if (plain.task === "regression") {
    const centre = mean(y),
      error = mean(y.map((v, i) => (v - found[i]) ** 2)),
      spread = mean(y.map((v) => (v - centre) ** 2));
    return [["R²", spread > 0 ? 1 - error / spread : NaN], ["root mean squared error", Math.sqrt(error)]];
  }
  const right = mean(y.map((v, i) => (String(v) === String(found[i]) ? 1 : 0))),
    codes = y.map((v) => plain.classes.findIndex((one) => String(one) === String(v)));
  if (engine.probabilities(rows[0]) === null) return [["accuracy", right]];
  const loss = mean(rows.map((row, i) => -Math.log(Math.max(engine.probabilities(row)[codes[i]], 1e-15))));
  return [["accuracy", right], ["log loss", loss]];
}

// What is set by hand: the weights of a row of the basis, all zero where the vector is dropped.
const edits = new Map();

function editPart(machine) {
  if (machine === null) return [];
  const { why } = machine.facts.page.edit;
  if (why) return [el("p", { class: "soft", id: "no-edit" }, `Weights cannot be edited here. ${why}`)];
  return [
    el(
      "p",
      { class: "soft" },
      "Edit by hand: drop a vector on its card or pin its weight, and the others are solved again so that the scores change as little as possible. The other parts of this page stay with the model as it was fitted."
    ),
    el("div", { id: "edited-line", role: "status", "aria-live": "polite" }),
    el("div", { id: "edited" })
  ];
}

// Old and new side by side.
function drawEdited(machine) {
  const [line, host] = ["edited-line", "edited"].map((id) => document.getElementById(id));
  if (line === null) return;
  line.replaceChildren();
  host.replaceChildren();
  if (!edits.size) return;
  if (leavesNone(machine, edits)) {
    line.append(el("p", { class: "warn" }, "▲ A basis vector must be left. Undo one of the edits."));
    return;
  }
  const { labels, facts } = machine,
    { engine, change } = editedModel(machine, edits),
    before = qualityOf(machine, machine.engine),
    after = qualityOf(machine, engine),
    now = ownWeights(engine.plain),
    rows = ownWeights(machine.plain).flatMap((own, r) =>
      labels[r].startsWith("u")
        ? own.map((c, o) => [own.length > 1 ? `${labels[r]}, ${facts.model.outputs[o]}` : labels[r], c, now[r][o], stateOf(r)])
        : []
    ),
    quality = before.map(([name, value], k) => [name, value, after[k][1]]);
  line.append(
    el(
      "div",
      { class: "answer" },
      [...edits.keys()].map((r) => `${labels[r]} ${stateOf(r)}`).join(", "),
      el(
        "small",
        {},
        quality.map(([name, old, now]) => `${name} ${fmt(old)} → ${fmt(now)}; `),
        `the scores change by ${fmt(change, 3)} (root mean square over ${facts.page.edit.n} samples).`
      )
    )
  );
  host.append(
    quality.length
      ? table(["quality", "fitted", "edited"], quality, { label: "Quality, fitted and edited" })
      : el("p", { class: "soft" }, "This file has no samples with targets of one output, so that the quality cannot be compared here."),
    quality.length ? el("p", { class: "soft" }, `On the ${machine.rows.length} samples of this file.`) : "",
    el(
      "details",
      {},
      el("summary", {}, "Weights, fitted and edited"),
      table(["vector", "fitted", "edited", "edit"], rows, { label: "Weights, fitted and edited" })
    ),
    el(
      "div",
      { class: "controls" },
      el("button", { type: "button", id: "undo-edits", onclick: () => undoEdits(machine) }, "Undo all edits"),
      copyButton("Copy as Python", () => editCode(machine))
    )
  );
}

function stateOf(r) {
  if (!edits.has(r)) return "solved again";
  return edits.get(r).every((c) => c === 0) ? "dropped" : "pinned";
}

function editCode({ labels }) {
  const of = (wanted) => [...edits.keys()].filter((r) => stateOf(r) === wanted),
    weights = (r) => (edits.get(r).length > 1 ? `[${edits.get(r).join(", ")}]` : edits.get(r)[0]),
    drop = of("dropped").map((r) => labels[r].slice(1)),
    pin = of("pinned").map((r) => `${labels[r].slice(1)}: ${weights(r)}`);
  return `edited = spkm.explain.edited(model, X, y, drop=[${drop.join(", ")}], pin={${pin.join(", ")}})\n`;
}

function undoEdits(machine) {
  edits.clear();
  document.querySelectorAll(".edit select").forEach((box) => {
    box.value = "free";
    box.dispatchEvent(new Event("change"));
  });
  drawEdited(machine);
}

// The controls of a card: free, dropped or pinned.
function editControls(machine, { r, name }) {
  if (machine === null || machine.facts.page.edit.why) return null;
  const own = ownWeights(machine.plain)[r],
    now = edits.get(r) || own,
    fields = own.map((_, o) =>
      el("input", { type: "number", step: "any", value: now[o], "aria-label": `Weight of ${name}${own.length > 1 ? ` for ${machine.facts.model.outputs[o]}` : ""}` })
    ),
    box = el("select", { id: `edit-${r}` }, [["free", "left free"], ["dropped", "dropped"], ["pinned", "pinned at"]].map(([value, text]) => el("option", { value }, text))),
    places = el("span", { class: "controls" }, fields);
  const set = () => {
    places.hidden = box.value !== "pinned";
    const typed = fields.map((field) => Number(field.value));
    if (box.value === "free") edits.delete(r);
    else if (box.value === "dropped") edits.set(r, own.map(() => 0));
    else if (fields.every((field) => field.value !== "") && typed.every(Number.isFinite)) edits.set(r, typed);
    drawEdited(machine);
  };
  box.value = edits.has(r) ? stateOf(r) : "free";
  places.hidden = box.value !== "pinned";
  [box, ...fields].forEach((part) => part.addEventListener("change", set));
  return el("div", { class: "controls edit" }, el("label", { for: `edit-${r}` }, `Weight of ${name}:`), box, places);
}

// The weights of each row for the scores of its own member.
function ownWeights(plain) {
  return plain.members.flatMap((member) => member.terms.flatMap((term) => term.weights));
}
