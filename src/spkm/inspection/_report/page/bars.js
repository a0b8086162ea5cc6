// How sure an explanation is: the same numbers of models that were fitted again with random weights of the samples.
const BARS_WORK = 3e8; // multiplications that error bars of a row may cost

function holdsObjects(list) {
  const [first] = list;
  return Array.isArray(first) ? holdsObjects(first) : first !== null && typeof first === "object";
}

// What a refit has in place of parts of the model; what is not named stays.
function merged(base, change) {
  if (Array.isArray(change)) return holdsObjects(change) ? change.map((part, k) => merged(base[k], part)) : change;
  if (change === null || typeof change !== "object") return change;
  const whole = { ...base };
  for (const [key, part] of Object.entries(change)) whole[key] = merged(base[key], part);
  return whole;
}

function refitMachines(machine) {
  if (!machine.refits)
    machine.refits = machine.facts.refits.models.map(([change, shapes]) => {
      const plain = merged(machine.plain, change);
      return {
        ...machine,
        plain,
        engine: spkmModel(plain),
        weights: weightsOf(plain),
        shapes: machine.shapes === null ? null : merged(machine.shapes, shapes)
      };
    });
  return machine.refits;
}

// Half-widths of error bars of numbers, an array of any depth, that are read off every refit.
function halfWidths(facts, found) {
  if (Array.isArray(found[0])) return found[0].map((_, k) => halfWidths(facts, found.map((one) => one[k])));
  const mean = found.reduce((sum, v) => sum + v, 0) / found.length,
    square = found.reduce((sum, v) => sum + (v - mean) ** 2, 0) / (found.length - 1);
  return facts.refits.half_width * facts.refits.spread * Math.sqrt(square);
}

function barsOf(machine, read) {
  return machine.facts.refits ? halfWidths(machine.facts, refitMachines(machine).map(read)) : null;
}

// Error bars of Shapley values, [column][output]; null without refits, or where a row would take too long.
function shapleyBars(machine, explained, read) {
  if (!machine.facts.refits || !explained.exact) return null;
  if (shapleyCost(machine) * explained.count * machine.facts.refits.models.length > BARS_WORK) return null;
  return barsOf(machine, read);
}

const BARS_NOTE = "whiskers: 90 % error bars";

function barsMeaning(facts) {
  return `Error bars (90 %) show how much a number would vary over other samples of the same kind, by ${facts.refits.models.length} refits with random weights; they do not hold the bias that all of these models share.`;
}

// The error bar of what a row is predicted, as text.
function surely(machine, row, { prediction }) {
  const { plain, facts } = machine;
  const bars = barsOf(machine, (refit) => refit.engine.scores(row)),
    named = plain.task === "classes" && plain.two_dimensional && plain.combine !== "pairs",
    o = named ? plain.classes.indexOf(prediction) : 0;
  if (!named && bars.length > 1) return "";
  return `; 90 % error bar of the ${facts.model.score_names[o]} ±${fmt(bars[o], 2)}`;
}

// What the changes do to the score, with its error bar.
function shiftText(machine) {
  const { facts } = machine,
    o = state.output,
    moved = (one) => one.engine.scores(state.moved)[o] - one.engine.scores(state.row)[o];
  if (moved(machine) === 0) return "";
  const half = barsOf(machine, moved);
  const text = ` The changes move the ${facts.model.score_names[o]} by ${signed(moved(machine))} ± ${fmt(half, 2)} (90 % error bar).`;
  return el("span", { id: "shift", "data-half": half }, text);
}
