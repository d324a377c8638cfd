/** Metrics for a collector: the document for Prometheus, read line by line into requests of OTLP. */

/** Points of one request: a collector takes 4 MB of one, and the document of 100,000 rules has millions of lines. */
const maxPoints = 4000;
/** Totals since the start of the process, as OTLP numbers it. */
const cumulative = 2;

type Attribute = { key: string; value: { stringValue: string } };

interface Point {
  readonly attributes: Attribute[];
  readonly startTimeUnixNano: string;
  readonly timeUnixNano: string;
}

interface Buckets {
  readonly attributes: Attribute[];
  readonly bounds: number[];
  /** Of all values up to each bound. */
  readonly counts: number[];
  sum: number;
  count: number;
}

interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: string;
}

export interface MetricsRequest {
  readonly body: object;
  readonly points: number;
}

export interface MetricsSource {
  readonly serviceName: string;
  readonly version: string;
  /** Milliseconds of the epoch. */
  readonly startMs: number;
  readonly nowMs: number;
}

/** Reads the pieces of a document; gives requests as soon as each is full. */
export async function* requestsOf(
  pieces: AsyncIterable<string>,
  source: MetricsSource,
): AsyncGenerator<MetricsRequest> {
  const reader = new Reader(source);
  let rest = '';
  for await (const piece of pieces) {
    const lines = (rest + piece).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      reader.take(line);
      if (reader.points >= maxPoints) yield reader.request();
    }
  }
  reader.take(rest);
  reader.endFamily();
  if (reader.points > 0) yield reader.request();
}

class Reader {
  points = 0;
  readonly #source: MetricsSource;
  readonly #nanos: { readonly startTimeUnixNano: string; readonly timeUnixNano: string };
  #metrics: object[] = [];
  #help = '';
  #family: Family = { name: '', help: '', type: '' };
  #numbers: object[] = [];
  #histograms = new Map<string, Buckets>();

  constructor(source: MetricsSource) {
    this.#source = source;
    this.#nanos = { startTimeUnixNano: nanos(source.startMs), timeUnixNano: nanos(source.nowMs) };
  }

  take(line: string): void {
    if (line.startsWith('# HELP ')) {
      this.#help = line.slice(line.indexOf(' ', 7) + 1);
    } else if (line.startsWith('# TYPE ')) {
      this.endFamily();
      const [name = '', type = ''] = line.slice(7).split(' ');
      this.#family = { name, type, help: this.#help };
    } else if (line !== '') {
      this.#sample(line);
    }
  }

  #sample(line: string): void {
    const valueAt = line.lastIndexOf(' ') + 1;
    const labelsAt = line.indexOf('{');
    const name = labelsAt < 0 ? line.slice(0, valueAt - 1) : line.slice(0, labelsAt);
    const labels = labelsAt < 0 ? '' : line.slice(labelsAt + 1, valueAt - 2);
    const value = Number(line.slice(valueAt));
    if (this.#family.type === 'histogram') this.#part(name, labels, line.slice(valueAt));
    if (this.#family.type === 'histogram' || !Number.isFinite(value)) return;
    const point: Point = { attributes: attributesOf(labels), ...this.#nanos };
    this.#numbers.push({ ...point, asDouble: value });
    this.points++;
  }

  /** A bucket, the sum or the count of a histogram. */
  #part(name: string, labels: string, text: string): void {
    const all = attributesOf(labels);
    const attributes = all.filter(({ key }) => key !== 'le');
    const key = JSON.stringify(attributes);
    let one = this.#histograms.get(key);
    if (one === undefined) {
      one = { attributes, bounds: [], counts: [], sum: 0, count: 0 };
      this.#histograms.set(key, one);
      this.points++;
    }
    const value = Number(text);
    if (name.endsWith('_sum')) one.sum = value;
    else if (name.endsWith('_count')) one.count = value;
    else {
      const bound = all.find(({ key }) => key === 'le')?.value.stringValue ?? '+Inf';
      if (bound !== '+Inf') one.bounds.push(Number(bound));
      one.counts.push(value);
    }
  }

  /**
   * What was read of a family becomes a metric; a large family becomes several of one name. Of a histogram the last one
   * may be under way, and stays then.
   */
  endFamily(isWhole = true): void {
    const { name, help: description, type } = this.#family;
    const described = { name, description, unit: unitOf(name) };
    if (this.#numbers.length > 0) {
      const dataPoints = this.#numbers;
      const isTotal = type === 'counter';
      const data = isTotal
        ? { sum: { dataPoints, aggregationTemporality: cumulative, isMonotonic: true } }
        : { gauge: { dataPoints } };
      this.#metrics.push({ ...described, ...data });
      this.#numbers = [];
    }
    const histograms = [...this.#histograms];
    const kept = isWhole ? [] : histograms.splice(-1);
    this.#histograms = new Map(kept);
    if (histograms.length > 0) {
      const dataPoints = histograms.map(([, { attributes, bounds, counts, sum, count }]) => ({
        attributes,
        ...this.#nanos,
        count: String(count),
        sum,
        explicitBounds: bounds,
        // Buckets of OTLP do not contain those below them.
        bucketCounts: counts.map((upTo, i) => String(upTo - (counts[i - 1] ?? 0))),
      }));
      this.#metrics.push({ ...described, histogram: { dataPoints, aggregationTemporality: cumulative } });
    }
  }

  /** All that was read since the last one. */
  request(): MetricsRequest {
    this.endFamily(false);
    const { serviceName, version } = this.#source;
    const attributes = [attribute('service.name', serviceName), attribute('service.version', version)];
    const scopeMetrics = [{ scope: { name: 'haumea', version }, metrics: this.#metrics }];
    const { points } = this;
    this.#metrics = [];
    this.points = this.#histograms.size;
    return { body: { resourceMetrics: [{ resource: { attributes }, scopeMetrics }] }, points: points - this.points };
  }
}

function attribute(key: string, text: string): Attribute {
  return { key, value: { stringValue: text } };
}

const label = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;

function attributesOf(labels: string): Attribute[] {
  return [...labels.matchAll(label)].map(([, key = '', text = '']) => {
    return attribute(key, text.includes('\\') ? text.replace(/\\(.)/g, (_all, c) => (c === 'n' ? '\n' : c)) : text);
  });
}

function nanos(ms: number): string {
  return `${Math.round(ms)}000000`;
}

function unitOf(name: string): string {
  if (name.includes('_seconds')) return 's';
  if (/_us(_|$)|_duration/.test(name)) return 'us';
  if (/_ms(_|$)/.test(name)) return 'ms';
  return name.includes('_bytes') ? 'By' : '1';
}
