/** Reads a document in the text format of Prometheus as strictly as the format is defined. */
import * as assert from 'uvu/assert';

export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Family {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly samples: Sample[];
}

const label = /^([a-zA-Z_]\w*)="((?:[^"\\\n]|\\[\\"n])*)"(,|$)/;

/** Gives the families by name; fails where a line, the order of lines or a histogram breaks the rules of the format. */
export function readDocument(document: string): Map<string, Family> {
  assert.ok(document.endsWith('\n'), 'the last line ends');
  const families = new Map<string, Family>();
  const seen = new Set<string>();
  let current = '';
  let help: string | undefined;
  for (const line of document.slice(0, -1).split('\n')) {
    const [, helped, text] = /^# HELP ([a-zA-Z_:][\w:]*) (.+)$/.exec(line) ?? [];
    const [, typed, type] = /^# TYPE ([a-zA-Z_:][\w:]*) (counter|gauge|histogram)$/.exec(line) ?? [];
    if (helped !== undefined) {
      assert.not(families.has(helped), `${helped} is described once`);
      current = helped;
      help = text ?? '';
    } else if (typed !== undefined) {
      assert.is(typed, current, 'HELP stands before TYPE');
      families.set(typed, { type: type as Family['type'], help: help ?? '', samples: [] });
    } else {
      const sample = readSample(line);
      assert.not(seen.has(line.slice(0, line.lastIndexOf(' '))), `${line} is given once`);
      seen.add(line.slice(0, line.lastIndexOf(' ')));
      const family = families.get(current);
      assert.ok(family, `${line} has a type`);
      const isPart = family?.type === 'histogram' && /_(bucket|sum|count)$/.test(sample.name);
      assert.is(
        isPart ? sample.name.replace(/_(bucket|sum|count)$/, '') : sample.name,
        current,
        'samples stand together',
      );
      if (family?.type !== 'gauge') assert.ok(sample.value >= 0, line);
      family?.samples.push(sample);
    }
  }
  for (const [name, family] of families) if (family.type === 'histogram') checkHistogram(name, family.samples);
  return families;
}

function readSample(line: string): Sample {
  const [, name, , inner = '', value] = /^([a-zA-Z_:][\w:]*)(\{(.*)\})? (\S+)$/.exec(line) ?? [];
  assert.ok(name !== undefined && value !== undefined, `a sample: ${line}`);
  const labels: Record<string, string> = {};
  let rest = inner;
  while (rest !== '') {
    const found = label.exec(rest);
    assert.ok(found, `labels: ${line}`);
    const [whole, key = '', text = ''] = found as RegExpExecArray;
    assert.not(key in labels, `${key} is given once: ${line}`);
    labels[key] = text.replace(/\\(.)/g, (_escape, c) => (c === 'n' ? '\n' : c));
    rest = rest.slice(whole.length);
  }
  const number = value === '+Inf' ? Number.POSITIVE_INFINITY : Number(value);
  assert.not(Number.isNaN(number), `a number: ${line}`);
  return { name: name ?? '', labels, value: number };
}

/** Buckets of equal other labels: bounds rise, counts don't fall, the last bound is infinite and counts everything. */
function checkHistogram(name: string, samples: readonly Sample[]): void {
  const series = new Map<string, { bounds: number[]; counts: number[]; sum?: number; count?: number }>();
  for (const { name: part, labels, value } of samples) {
    const { le, ...others } = labels;
    const key = JSON.stringify(others);
    const one = series.get(key) ?? { bounds: [], counts: [] };
    series.set(key, one);
    if (part === `${name}_bucket`) {
      assert.type(le, 'string', `${name} has bounds`);
      one.bounds.push(le === '+Inf' ? Number.POSITIVE_INFINITY : Number(le));
      one.counts.push(value);
    } else if (part === `${name}_sum`) one.sum = value;
    else if (part === `${name}_count`) one.count = value;
    else assert.unreachable(`${part} is no part of a histogram`);
  }
  for (const [key, { bounds, counts, sum, count }] of series) {
    const where = `${name} ${key}`;
    assert.is(bounds.at(-1), Number.POSITIVE_INFINITY, where);
    for (let i = 1; i < bounds.length; i++) {
      assert.ok(bounds[i]! > bounds[i - 1]!, where);
      assert.ok(counts[i]! >= counts[i - 1]!, where);
    }
    assert.is(counts.at(-1), count, where);
    assert.ok(sum !== undefined && sum >= 0, where);
  }
}
