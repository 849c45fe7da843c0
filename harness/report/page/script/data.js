// The packed data of the page: packed.py is the other half of this file. Each block is unpacked when first asked for.

// Those of a small report are JSON and read at once, before the first paint.

const parsed = new Promise((done) => document.readyState === "loading" ? addEventListener("DOMContentLoaded", done) : done());
const isPlain = (name) => byId("block-" + name)?.type === "application/json";

async function unpacked(name) {
  if (!byId("block-" + name)) await parsed; // charts and their library stand behind the scripts
  const node = byId("block-" + name);
  const packed = atob(node.textContent);
  const bytes = new Uint8Array(packed.length);
  for (let i = 0; i < packed.length; i++) bytes[i] = packed.charCodeAt(i);
  node.remove();
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}

function plainBlock(name) {
  const node = byId("block-" + name), value = JSON.parse(node.textContent);
  node.remove();
  return value;
}

const unpackedText = async (name) => new TextDecoder().decode(await unpacked(name));
const unpackedJson = async (name) => isPlain(name) ? plainBlock(name) : JSON.parse(await unpackedText(name));
const unpackedFloats = async (name) => isPlain(name)
  ? Float32Array.from(plainBlock(name), (value) => value ?? NaN) : new Float32Array(await unpacked(name));
const breath = () => new Promise((done) => setTimeout(done));

// The examples of one data set, by columns. A row is one output of an example.
class Group {
  constructor(info, place) {
    Object.assign(this, info);
    this.place = place;
    this.score_places = new Map(info.scores.map((score, i) => [score.name, i]));
    this.reading = null;
    this.ready = false;
  }

  read() {
    this.reading ||= this.#read();
    return this.reading;
  }

  async #read() {
    this.numbers = await unpackedFloats("scores-" + this.place);
    const texts = await unpackedJson("texts-" + this.place);
    this.ids = texts.id;
    this.repeats = texts.repeat;
    this.metadata = texts.fields;
    this.sources = texts.source;
    this.references = texts.references;
    this.outputs = [];
    this.errors = [];
    this.contexts = [];
    for (let run = 0; run < this.runs.length; run++) {
      if (!isPlain(`outputs-${this.place}-${run}`)) await breath();
      const { output, error, contexts } = await unpackedJson(`outputs-${this.place}-${run}`);
      this.outputs.push(output);
      this.errors.push(error);
      this.contexts.push(contexts);
    }
    if (this.repeats) {
      const first = new Map();
      this.ids.forEach((id, row) => {
        if (!first.has(id)) first.set(id, row);
        this.sources[row] = this.sources[first.get(id)];
        this.references[row] = this.references[first.get(id)];
      });
    }
    this.alignments = await unpackedJson("alignments-" + this.place);
    this.searchable = new Array(this.rows);
    this.ready = true;
    this.prepare();
  }

  // A score of every row, of one run.
  column(score, run) {
    const start = (this.score_places.get(score) * this.runs.length + run) * this.rows;
    return this.numbers.subarray(start, start + this.rows);
  }

  scoreOf(score, run, row) {
    return this.column(score, run)[row];
  }

  about(score) {
    return this.scores[this.score_places.get(score)];
  }

  // A minus B, as rows show it; NaN where either is missing.
  difference(score, a, b) {
    const of = this.column(score, a), from = this.column(score, b);
    return Float64Array.from(of, (value, row) => value - from[row]);
  }

  // How much better A is than B.
  gain(score, a, b) {
    return this.about(score).lower ? this.difference(score, b, a) : this.difference(score, a, b);
  }

  text(row) {
    this.searchable[row] ??= [this.ids[row], this.sources[row], ...this.references[row],
      ...this.outputs.map((of) => of[row])].filter((text) => text !== null).join("\n").toLowerCase();
    return this.searchable[row];
  }

  // Lower-cased texts for the search, in small parts, so that the page stays quick meanwhile.
  async prepare() {
    for (let row = 0; row < this.rows; row++) {
      this.text(row);
      if (row % 200 === 199) await breath();
    }
  }

  lengths(of) {
    const words = (text) => text === null || text === undefined ? NaN : text.length;
    return Float32Array.from({ length: this.rows }, (_, row) => words(of(row)));
  }
}

