/** Reads and renews case files; `cases/README.md` describes the format. */

/** What is expected of a run, line by line: messages as they are sent, or words (see `Outcome`). */
export interface Expected {
  /** Number of the `----` line, from 1. */
  readonly line: number;
  readonly lines: readonly string[];
  readonly anyOrder: 'rows' | 'messages' | undefined;
}

/** More that happens to a rule, in a kernel whose clock the case moves. */
export interface Step {
  /** Undefined when only time passes. */
  readonly stream: string | undefined;
  /** ms; undefined: the clock stands still. */
  readonly at: number | undefined;
  readonly payloads: readonly string[];
  readonly expected: Expected | undefined;
}

export interface Query {
  readonly file: string;
  readonly line: number;
  readonly title: string;
  readonly sql: string;
  /** CREATE statements by the names of what they define. */
  readonly definitions: ReadonlyMap<string, string>;
  /** Texts of protobuf schemas by their names. */
  readonly schemas: ReadonlyMap<string, string>;
  /** Payloads by the names of streams and tables. */
  readonly rows: ReadonlyMap<string, readonly string[]>;
  readonly options: Record<string, unknown>;
  readonly sink: Record<string, unknown>;
  readonly expected: Expected | undefined;
  readonly steps: readonly Step[];
  /** Each row's value beside it: the lines `payload => value` of an `each`. */
  readonly pairs: readonly Pair[] | undefined;
}

export interface Pair {
  readonly line: number;
  readonly payload: string;
  readonly value: string;
}

/** A case file that can't be used; the message begins with file and line. */
export class CaseError extends Error {
  constructor(message: string) {
    super(message);
    // Where the runner stood helps nobody who writes cases.
    this.stack = '';
  }
}

const separator = /^----(?: (rows|messages) in any order)?$/;
const arrow = ' => ';
const isStep = (text: string): boolean => /^then(?: |$)/.test(text);
const isWord = (text: string): boolean => /^(CREATE|schema|rows|query|each|----)(?: |$)/.test(text);
const plainStream = 'CREATE STREAM demo () WITH (FORMAT="json")';

/** Reads the queries of a file; throws a `CaseError` for everything that is not as the format says. */
export function readCases(file: string, text: string): Query[] {
  return new Reader(file, text).read();
}

class Reader {
  readonly #lines: string[];
  readonly #definitions = new Map<string, string>();
  readonly #schemas = new Map<string, string>();
  readonly #rows = new Map<string, { line: number; payloads: string[]; isUsed: boolean }>();
  readonly #queries: Query[] = [];
  #at = 0;

  constructor(
    readonly file: string,
    text: string,
  ) {
    this.#lines = text.split('\n').map((line) => line.trimEnd());
  }

  read(): Query[] {
    for (; this.#at < this.#lines.length; ) {
      const line = this.#current();
      if (line === '' || line.startsWith('#')) this.#at++;
      else if (/^CREATE\s/i.test(line)) this.#define();
      else if (line.startsWith('schema ')) this.#readSchema();
      else if (line.startsWith('rows ')) this.#readRows();
      else if (line.startsWith('query ')) this.#readQuery();
      else if (line.startsWith('each ')) this.#readEach();
      else this.#fail(`${line.split(' ')[0]} is no word of a case file (CREATE, schema, rows, query, each)`);
    }
    for (const { line, isUsed } of this.#rows.values()) if (!isUsed) this.#fail('no query sees these rows', line);
    if (this.#queries.length === 0) this.#fail('there is no query', 1);
    return this.#queries;
  }

  #current(): string {
    return this.#lines[this.#at] ?? '';
  }

  #fail(reason: string, line = this.#at + 1): never {
    throw new CaseError(`${this.file}:${line} ${reason}`);
  }

  /** Lines up to the next empty one or one that `ends`, without comments. */
  #block(ends: (line: string) => boolean = () => false): { line: number; text: string }[] {
    const found: { line: number; text: string }[] = [];
    for (; this.#at < this.#lines.length; this.#at++) {
      const text = this.#current();
      if (text === '' || ends(text)) break;
      if (!text.startsWith('#')) found.push({ line: this.#at + 1, text });
    }
    return found;
  }

  /** A statement goes on in lines that are indented. */
  #define(): void {
    const line = this.#at + 1;
    const parts = [this.#current()];
    for (this.#at++; /^\s+\S/.test(this.#current()); this.#at++) parts.push(this.#current());
    const statement = parts.join('\n');
    const name = /^CREATE\s+(?:STREAM|TABLE)\s+`?(\w+)`?/i.exec(statement)?.[1];
    if (name === undefined) this.#fail('CREATE STREAM name or CREATE TABLE name is needed', line);
    if (this.#definitions.has(name)) this.#fail(`${name} is defined twice`, line);
    this.#definitions.set(name, statement);
  }

  #readSchema(): void {
    const name = this.#current().slice('schema '.length).trim();
    if (this.#schemas.has(name)) this.#fail(`${name} is there twice`);
    this.#at++;
    const text = this.#block().map((one) => one.text);
    if (text.length === 0) this.#fail('there is no text of the schema');
    this.#schemas.set(name, text.join('\n'));
  }

  #named(name: string): string {
    if (this.#definitions.size === 0) this.#definitions.set('demo', plainStream);
    if (!this.#definitions.has(name)) this.#fail(`${name} is not defined`);
    return name;
  }

  #readRows(): void {
    const line = this.#at + 1;
    const name = this.#named(this.#current().slice('rows '.length));
    if (this.#rows.get(name)?.isUsed === false) this.#fail(`${name} has rows that no query saw`, line);
    this.#at++;
    const payloads = this.#block().map(({ text }) => text);
    if (payloads.length === 0) this.#fail('there are no rows', line);
    this.#rows.set(name, { line, payloads, isUsed: false });
  }

  #seenRows(): Map<string, string[]> {
    const seen = [...this.#rows].map(([name, entry]): [string, string[]] => {
      entry.isUsed = true;
      return [name, entry.payloads];
    });
    return new Map(seen);
  }

  #readQuery(): void {
    const line = this.#at + 1;
    const title = this.#current().slice('query '.length).trim();
    const props: Record<string, Record<string, unknown>> = { options: {}, sink: {} };
    for (this.#at++; ; this.#at++) {
      const [, word = '', json = ''] = /^(options|sink) (.*)$/.exec(this.#current()) ?? [];
      if (word === '') break;
      props[word] = this.#object(json);
    }
    const sql = this.#block((text) => separator.test(text) || isStep(text));
    if (sql.length === 0) this.#fail('there is no statement', line);
    const expected = this.#readExpected();
    this.#skipEmpty();
    const steps: Step[] = [];
    for (; isStep(this.#current()); this.#skipEmpty()) steps.push(this.#readStep());
    const last = steps.length > 0 ? steps.at(-1)?.expected : expected;
    if (last === undefined) this.#fail('it is not said what comes out (----)', line);
    this.#add({
      line,
      title,
      sql: sql.map(({ text }) => text).join('\n'),
      options: props.options!,
      sink: props.sink!,
      expected,
      steps,
      pairs: undefined,
    });
  }

  #object(json: string): Record<string, unknown> {
    try {
      return JSON.parse(json);
    } catch (error) {
      this.#fail(`not JSON: ${(error as Error).message}`);
    }
  }

  #skipEmpty(): void {
    while (this.#at < this.#lines.length && /^(#.*)?$/.test(this.#current())) this.#at++;
  }

  #readExpected(): Expected | undefined {
    const match = separator.exec(this.#current());
    if (match === null) return undefined;
    const line = ++this.#at;
    const lines = this.#block(isStep).map((one) => {
      if (isWord(one.text)) this.#fail('an empty line is needed before this', one.line);
      return one.text;
    });
    return { line, lines, anyOrder: match[1] as Expected['anyOrder'] };
  }

  #readStep(): Step {
    const [, stream, at] = /^then(?: (?!at\b)(\w+))?(?: at (\d+))?$/.exec(this.#current()) ?? [];
    if (stream === undefined && at === undefined) this.#fail('then NAME, then at MS or then NAME at MS is needed');
    if (stream !== undefined) this.#named(stream);
    this.#at++;
    const isEnd = (text: string) => separator.test(text) || isStep(text);
    const payloads = this.#block(isEnd).map(({ text }) => text);
    if ((stream === undefined) !== (payloads.length === 0)) this.#fail('rows are for a stream');
    return { stream, at: at === undefined ? undefined : Number(at), payloads, expected: this.#readExpected() };
  }

  #readEach(): void {
    const line = this.#at + 1;
    const expression = this.#current().slice('each '.length).trim();
    this.#named([...this.#definitions.keys()][0] ?? 'demo');
    const [stream = '', ...others] = this.#definitions.keys();
    if (others.length > 0) this.#fail('each is for files with one stream');
    this.#at++;
    const seen = new Set<string>();
    const pairs = this.#block().map(({ line, text }) => {
      const split = text.lastIndexOf(arrow);
      const payload = (split < 0 ? text : text.slice(0, split)).replace(/ =>$/, '');
      if (seen.has(payload)) this.#fail('the row is there twice', line);
      seen.add(payload);
      return { line, payload, value: split < 0 ? '' : text.slice(split + arrow.length) };
    });
    if (pairs.length === 0) this.#fail('there are no rows', line);
    const payloads = pairs.map(({ payload }) => payload);
    const sql = `SELECT ${expression} AS r FROM ${stream}`;
    const rest = { options: {}, sink: {}, expected: undefined, steps: [] };
    this.#add({ line, title: expression, sql, ...rest, pairs }, new Map([[stream, payloads]]));
  }

  #add(query: Omit<Query, 'file' | 'definitions' | 'schemas' | 'rows'>, rows = this.#seenRows()): void {
    const { title, line } = query;
    if (this.#queries.some((other) => other.title === title)) this.#fail(`"${title}" is there twice`, line);
    const definitions = new Map(this.#definitions);
    const schemas = new Map(this.#schemas);
    this.#queries.push({ ...query, file: this.file, definitions, schemas, rows });
  }
}

/** What replaces lines of a file: the lines after a number up to the next empty one, or a line of an `each`. */
export type Renewal = { after: number; lines: readonly string[] } | { pair: number; payload: string; value: string };

const lineOf = (one: Renewal) => ('after' in one ? one.after : one.pair);

/** The text of a file with what was expected renewed. */
export function renew(text: string, renewals: readonly Renewal[]): string {
  const lines = text.split('\n');
  // From the end, so that the numbers before stay true.
  for (const one of [...renewals].sort((a, b) => lineOf(b) - lineOf(a))) {
    if ('pair' in one) {
      lines[one.pair - 1] = `${one.payload}${arrow}${one.value}`;
      continue;
    }
    let end = one.after;
    while (end < lines.length && lines[end]?.trim() !== '' && !isStep(lines[end] ?? '')) end++;
    lines.splice(one.after, end - one.after, ...one.lines);
  }
  return lines.join('\n');
}
