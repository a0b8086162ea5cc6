// Building blocks of the page. Names and labels are data of strangers: they enter as text, never as markup.
const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(3)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return node;
}

function el(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

function svg(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

// The digits of an exponent, raised.
const raised = (power) => String(power).replace(/[-\d]/g, (c) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(c)]);

// A number as people write it: four digits, a true minus sign, 5.8×10⁻¹⁸ for what is very small or large.
function fmt(x, digits = 4) {
  if (x === null || x === undefined || Number.isNaN(x)) return "–";
  if (typeof x !== "number") return String(x);
  if (!Number.isFinite(x)) return x > 0 ? "∞" : "−∞";
  const size = Math.abs(x);
  let text;
  if (size !== 0 && (size < 1e-4 || size >= 1e7)) {
    const [number, power] = x.toExponential(digits - 1).split("e").map(Number);
    text = `${number}×10${raised(power)}`;
  } else text = size >= 1000 ? String(Math.round(x * 10) / 10) : String(Number(x.toPrecision(digits)));
  return text.replace("-", "−");
}

// A sentence of Python with true minus signs.
function minus(text) {
  return text.replace(/(^|[\s(])-(?=[\d.])/g, "$1−");
}

function signed(x, digits = 4) {
  return (x > 0 ? "+" : "") + fmt(x, digits);
}

function percent(x, digits = 0) {
  return x === null || x === undefined ? "–" : (100 * x).toFixed(digits).replace("-", "−") + " %";
}

function shorten(text, most) {
  text = String(text);
  return text.length <= most ? text : text.slice(0, most - 1) + "…";
}

// How wide a chart may be, so that its letters keep their size on a telephone.
function chartWidth(most = 760) {
  return Math.max(260, Math.min(most, document.documentElement.clientWidth - 60));
}

// A share: shown in percent, copied as the number it is.
function share(x, digits = 1) {
  return { show: percent(x, digits), value: x };
}

// A part of a whole: too small a one has no digits of its own, but is copied with all.
function part(x) {
  return { show: x !== null && x !== 0 && Math.abs(x) < 1e-4 ? "< 0.0001" : fmt(x), value: x };
}

function csvCell(given) {
  const value = given !== null && typeof given === "object" && "show" in given ? given.value : given;
  let text = value === null || value === undefined ? "" : String(value);
  // A cell that a spreadsheet would take for a formula is made text.
  if (typeof value === "string" && /^[=+\-@\t\r]/.test(text)) text = "'" + text;
  return /[",\n\r]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
}

function toCsv(head, rows) {
  return [head, ...rows].map((row) => row.map(csvCell).join(",")).join("\n") + "\n";
}

async function copyText(text, button) {
  const before = button.textContent;
  let done = false;
  try {
    await navigator.clipboard.writeText(text);
    done = true;
  } catch (error) {
    const area = el("textarea", { "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    done = document.execCommand("copy");
    area.remove();
  }
  button.textContent = done ? "Copied" : "Could not copy";
  setTimeout(() => {
    button.textContent = before;
  }, 1500);
}

function copyButton(label, text) {
  const button = el("button", { type: "button" }, label);
  button.addEventListener("click", () => copyText(text(), button));
  return button;
}

// A table; numbers are shown short and copied in full.
function table(head, rows, attributes = {}) {
  const text = head.map((_, k) =>
    rows.some((row) => (typeof row[k] === "string" && row[k] !== "–") || row[k] instanceof Node)
  );
  const shown = (value) =>
    value === null || value === undefined ? "–" : typeof value === "number" ? fmt(value) : (value.show ?? value);
  const sizes = head.map((_, k) => Math.max(0, ...rows.map((row) => (typeof row[k] === "number" ? Math.abs(row[k]) : 0))));
  // What is rounding beside the rest of its column is shown as zero; it is copied as it is.
  const cell = (value, k) =>
    el("td", { class: text[k] ? "text" : null }, shown(typeof value === "number" && Math.abs(value) < 1e-9 * sizes[k] ? 0 : value));
  return el(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": attributes.label || "Table" },
    el(
      "table",
      { class: attributes.class },
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          head.map((name, k) => el("th", { scope: "col", class: text[k] ? "text" : null }, name))
        )
      ),
      el(
        "tbody",
        {},
        rows.map((row) => el("tr", {}, row.map(cell)))
      )
    )
  );
}

// A chart with its twin: the same numbers as a table that can be copied.
function figure({ title, note, alt, chart, head, rows, open = false }) {
  chart.setAttribute("role", "img");
  chart.setAttribute("aria-label", alt || title);
  return el(
    "figure",
    {},
    el("figcaption", {}, title, note ? el("span", { class: "soft" }, note) : null),
    chart,
    el(
      "details",
      { open: open },
      el("summary", {}, "Numbers"),
      table(head, rows, { label: title }),
      copyButton("Copy as CSV", () => toCsv(head, rows))
    )
  );
}

// A picture as a file: a PNG of twice the size, with the colours that it has on the page.
function saveButton(label, picture, title) {
  const save = () => {
    const copy = picture.cloneNode(true),
      root = getComputedStyle(document.documentElement),
      [width, height] = ["width", "height"].map((name) => Number(picture.getAttribute(name)) + 32);
    const names = ["paper", "ink", "soft", "line", "up", "down", "accent", "good", "warn", "band"];
    const colours = names.map((name) => `--${name}:${root.getPropertyValue("--" + name)}`).join(";"),
      rules = [...document.styleSheets[0].cssRules].filter((rule) => rule.cssText.startsWith("svg")).map((rule) => rule.cssText);
    copy.setAttribute("xmlns", SVG);
    copy.setAttribute("style", `${colours};font-family:sans-serif;background:var(--paper)`);
    copy.setAttribute("viewBox", `-16 -16 ${width} ${height}`);
    copy.setAttribute("width", 2 * width);
    copy.setAttribute("height", 2 * height);
    copy.prepend(svg("style", {}, rules.join(" ")));
    const image = new Image();
    image.onload = () => {
      const canvas = el("canvas", { width: 2 * width, height: 2 * height });
      canvas.getContext("2d").drawImage(image, 0, 0);
      el("a", { href: canvas.toDataURL("image/png"), download: `${title.replace(/[^\p{L}\p{N}]+/gu, "-")}.png` }).click();
    };
    image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(new XMLSerializer().serializeToString(copy));
  };
  return el("button", { type: "button", onclick: save }, label);
}
