// What if a feature were different, and where two rows part.
function drawWhatIf(machine, all = false) {
  const order = machine.features
    .map((_, j) => j)
    .filter((j) => machine.features[j].high > machine.features[j].low)
    .sort((a, b) => machine.features[b].variance - machine.features[a].variance);
  const shown = all ? order : order.slice(0, 12),
    live = el("div", { role: "status", "aria-live": "polite", id: "what-if-answer" }),
    changes = el("p", { class: "soft", id: "what-if-changes" });
  const update = () => {
    live.replaceChildren(
      answerBox(machine, state.moved, "Now", null),
      el(
        "p",
        { class: "soft" },
        `Before: ${answer(machine, state.row).text}, ${answer(machine, state.row).detail} (${state.title}).`
      )
    );
    const moved = machine.features
      .map((f, j) =>
        state.moved[j] !== state.row[j] ? `${f.name} ${fmt(state.row[j])} → ${fmt(state.moved[j])}` : null
      )
      .filter((text) => text !== null);
    changes.textContent = moved.length
      ? `Changed: ${moved.slice(0, 8).join("; ")}${moved.length > 8 ? ` and ${moved.length - 8} more` : ""}.`
      : "Nothing is changed yet.";
  };
  const slider = (j) => {
    const f = machine.features[j],
      step = f.whole ? 1 : "any",
      id = `slide-${j}`;
    const box = el("input", {
      type: "number",
      step: "any",
      min: f.low,
      max: f.high,
      value: state.moved[j],
      id: `${id}-number`,
      "aria-label": `${f.name}, as a number`
    });
    const bar = el("input", { type: "range", min: f.low, max: f.high, step, value: state.moved[j], id });
    const say = () => bar.setAttribute("aria-valuetext", `${fmt(state.moved[j])}${f.unit ? " " + f.unit : ""}`);
    const set = (value, from) => {
      state.moved[j] = value;
      if (from !== box) box.value = Number(value.toPrecision(8));
      if (from !== bar) bar.value = value;
      say();
      update();
    };
    bar.addEventListener("input", () => set(Number(bar.value), bar));
    bar.addEventListener("keydown", (event) => {
      // a step of "any" leaves the size of a key's step to the browser
      const sign = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10 }[event.key];
      if (!sign) return;
      event.preventDefault();
      const by = f.whole ? Math.max(1, Math.round((f.high - f.low) / 100)) : (f.high - f.low) / 100;
      set(Math.max(f.low, Math.min(f.high, state.moved[j] + sign * by)), null);
    });
    box.addEventListener("change", () => set(Math.max(f.low, Math.min(f.high, Number(box.value) || 0)), null));
    say();
    return el(
      "div",
      { class: "slider" },
      el("div", { class: "head" }, el("label", { for: id }, f.name, f.unit ? `, ${f.unit}` : ""), box),
      bar,
      el("div", { class: "ends" }, el("span", {}, fmt(f.low)), el("span", {}, fmt(f.high)))
    );
  };
  update();
  whatIfHost.replaceChildren(
    live,
    changes,
    el(
      "div",
      { class: "controls" },
      el(
        "button",
        {
          type: "button",
          onclick: () => {
            state.moved = state.row.slice();
            drawWhatIf(machine, all);
          }
        },
        "Back to the row"
      ),
      el(
        "button",
        { type: "button", onclick: () => showRow(machine, state.moved, "changed row") },
        "Explain what is set"
      ),
      order.length > 12
        ? el(
            "button",
            { type: "button", onclick: () => drawWhatIf(machine, !all) },
            all ? "Show the 12 that matter most" : `Show all ${order.length}`
          )
        : null
    ),
    el("div", { class: "sliders" }, shown.map(slider))
  );
}

function drawCompare(machine) {
  const { facts } = machine,
    score = facts.model.score_names[state.output],
    both = [state.row, state.other].map((row) => shapleyValues(machine, row)),
    o = state.output;
  const order = machine.features
    .map((_, j) => j)
    .sort(
      (a, b) =>
        Math.abs(both[1].values[b][o] - both[0].values[b][o]) - Math.abs(both[1].values[a][o] - both[0].values[a][o])
    );
  const gaps = machine.features.map((_, j) => both[1].values[j][o] - both[0].values[j][o]);
  const fall = largest(
    machine.features.map((f, j) => `${f.name}: ${fmt(state.row[j])} → ${fmt(state.other[j])}`),
    gaps,
    12
  );
  const head = ["feature", "A", "B", "Shapley value A", "Shapley value B", "difference"],
    rows = order.map((j) => [
      machine.features[j].name,
      state.row[j],
      state.other[j],
      both[0].values[j][o],
      both[1].values[j][o],
      gaps[j]
    ]);
  compareHost.replaceChildren(
    el(
      "div",
      { class: "pair" },
      answerBox(machine, state.row, `A, ${state.title}`, truthOf(facts, state.title)),
      answerBox(machine, state.other, `B, ${state.otherTitle}`, truthOf(facts, state.otherTitle))
    ),
    figure({
      title: "From A to B",
      note: `how the differences between the features change the ${score}`,
      alt: `Waterfall of the differences of Shapley values; the largest is ${fall.labels[0]}.`,
      chart: waterfall(fall.labels, fall.values, both[0].scores[o], { first: "A", last: "B" }),
      head,
      rows
    })
  );
}
