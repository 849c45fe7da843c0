// What two texts share: word by word (longest common subsequence), and as n-grams. Both bounded in cost.

const MOST_CELLS = 4e6;

// For tokens of two texts which of them are common: {a: [bool], b: [bool], steps}. Steps walk through both texts in order:
// [1, i] common, [0, i] only in a, [2, j] only in b. Texts that are too long for the table are compared as bags of words,
// without steps.
function compared(a, b) {
  const inA = new Array(a.length).fill(false), inB = new Array(b.length).fill(false);
  let start = 0, endA = a.length, endB = b.length;
  while (start < endA && start < endB && a[start].text === b[start].text) inA[start] = inB[start++] = true;
  while (endA > start && endB > start && a[endA - 1].text === b[endB - 1].text) inA[--endA] = inB[--endB] = true;
  const n = endA - start, m = endB - start;
  if ((n + 1) * (m + 1) > MOST_CELLS) {
    inBags(a.slice(start, endA), b.slice(start, endB), (i, j) => { inA[start + i] = inB[start + j] = true; });
    return { a: inA, b: inB, steps: null };
  }
  const width = m + 1, longest = new Uint16Array((n + 1) * width);
  for (let i = n - 1; i >= 0; i--) {
    for (let j = m - 1; j >= 0; j--) {
      longest[i * width + j] = a[start + i].text === b[start + j].text
        ? longest[(i + 1) * width + j + 1] + 1
        : Math.max(longest[(i + 1) * width + j], longest[i * width + j + 1]);
    }
  }
  for (let i = 0, j = 0; i < n && j < m;) {
    if (a[start + i].text === b[start + j].text) inA[start + i++] = inB[start + j++] = true;
    else if (longest[(i + 1) * width + j] >= longest[i * width + j + 1]) i++;
    else j++;
  }
  const steps = [];
  for (let i = 0, j = 0; i < a.length || j < b.length;) {
    if (i < a.length && !inA[i]) steps.push([0, i++]);
    else if (j < b.length && !inB[j]) steps.push([2, j++]);
    else { steps.push([1, i++]); j++; }
  }
  return { a: inA, b: inB, steps };
}

function inBags(a, b, common) {
  const places = new Map();
  b.forEach((token, j) => {
    if (!places.has(token.text)) places.set(token.text, []);
    places.get(token.text).push(j);
  });
  for (const positions of places.values()) positions.reverse();
  a.forEach((token, i) => {
    const positions = places.get(token.text);
    if (positions && positions.length) common(i, positions.pop());
  });
}

const ORDERS = 4;

// For each token of the output the length (1 to 4) of the longest n-gram around it that any reference has, else 0; letter
// case and punctuation aside.
function matchedGrams(output, references) {
  const key = (token) => token.text.toLowerCase();
  const known = new Set();
  for (const reference of references) {
    const words = reference.filter((token) => token.word).map(key);
    for (let n = 1; n <= ORDERS; n++) {
      for (let i = 0; i + n <= words.length; i++) known.add(words.slice(i, i + n).join(" "));
    }
  }
  const places = [];
  output.forEach((token, i) => { if (token.word) places.push(i); });
  const words = places.map((i) => key(output[i]));
  const levels = new Array(output.length).fill(0);
  for (let n = 1; n <= ORDERS; n++) {
    for (let i = 0; i + n <= words.length; i++) {
      if (known.has(words.slice(i, i + n).join(" "))) for (let k = i; k < i + n; k++) levels[places[k]] = n;
    }
  }
  return levels;
}

