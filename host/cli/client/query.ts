/** `haumea query`: statements read from the keyboard; the rows of a SELECT are printed until Ctrl-C. */
import { randomBytes } from 'node:crypto';
import { createInterface } from 'node:readline';
import { isObject } from '../../base/structures/is-object.js';
import { type Call, type Command, UsageError } from './command.js';
import { openEvents } from './events.js';
import { RequestError } from './rest-client.js';

const helpText = `A statement is one line; a backslash at its end continues it. Several are separated by semicolons.

  SELECT …                            run a query, its rows are printed as JSON; Ctrl-C ends it
  CREATE | DROP | DESCRIBE STREAM …   the same for TABLE
  SHOW STREAMS, SHOW TABLES
  help, quit                          quit ends a running query as well

`;

/** How the server's remark begins that no rows can come any more. */
const endNote = 'the stream has ended';

export const queryCommand: Command = {
  path: 'query',
  args: [{ name: 'sql', isOptional: true, isRest: true }],
  flags: [
    { name: 'options', value: 'JSON', doc: 'options of a rule for the queries, as {"isEventTime": true}' },
    { name: 'limit', value: 'N', doc: 'end a query after N rows' },
    {
      name: 'events-url',
      value: 'URL',
      doc: 'address of the event server (default: host of the server, the port it names)',
    },
  ],
  doc: 'run statements; without SQL they are read from the keyboard or from standard input',
  run: async (call) => {
    const limit = limitOf(call.flag('limit'));
    optionsOf(call);
    const sql = call.arg('sql');
    if (sql !== '') return (await statements(call, sql, limit)) ? 0 : 1;
    return interactive(call, limit);
  },
};

function limitOf(text: string | undefined): number {
  if (text === undefined) return Number.POSITIVE_INFINITY;
  const limit = Number(text);
  if (!Number.isInteger(limit) || limit < 1)
    throw new UsageError(`--limit must be a whole number above 0, not ${text}`);
  return limit;
}

/** Options of the rules that queries are. */
function optionsOf(call: Call): Record<string, unknown> | undefined {
  const text = call.flag('options');
  if (text === undefined) return undefined;
  try {
    const options: unknown = JSON.parse(text);
    if (isObject(options)) return options;
  } catch {
    // As any other text that is no object.
  }
  throw new UsageError(`--options must be a JSON object such as {"isEventTime": true}, not ${text}`);
}

/** Reads statements until the input ends; at a terminal a failed statement does not end the session. */
async function interactive(call: Call, limit: number): Promise<number> {
  const { io } = call;
  const lines = createInterface({
    input: io.input,
    output: io.isInteractive ? process.stderr : undefined,
    terminal: io.isInteractive,
    prompt: 'haumea > ',
  });
  // At a terminal readline takes Ctrl-C as a key: hand it on to a running query, otherwise leave.
  let interrupt: (() => void) | undefined;
  lines.on('SIGINT', () => (interrupt === undefined ? lines.close() : interrupt()));
  // Lines that are typed while a query runs wait for its end.
  lines.on('line', (line) => {
    if (interrupt === undefined || !io.isInteractive) return;
    if (isQuit(line.trim())) interrupt();
    else if (line.trim() !== '') io.err('A query is running: Ctrl-C or quit ends it, then this line is run.\n');
  });
  const keys: Call = {
    ...call,
    io: {
      ...io,
      onInterrupt: (stop) => {
        interrupt = stop;
        const release = io.onInterrupt(stop);
        return () => {
          interrupt = undefined;
          release();
        };
      },
    },
  };
  if (io.isInteractive) {
    io.err(`Connected to ${call.client.base}; help shows what can be said.\n`);
    lines.prompt();
  }
  let isGood = true;
  let pending = '';
  for await (const line of lines) {
    pending += line;
    if (pending.endsWith('\\')) {
      pending = `${pending.slice(0, -1)}\n`;
      continue;
    }
    const text = pending.trim();
    pending = '';
    if (isQuit(text)) break;
    if (text === 'help') io.out(helpText);
    else if (text !== '') isGood = (await attempt(keys, text, limit)) && isGood;
    if (io.isInteractive) lines.prompt();
  }
  lines.close();
  return isGood || io.isInteractive ? 0 : 1;
}

function isQuit(text: string): boolean {
  return text === 'quit' || text === 'exit';
}

async function attempt(call: Call, text: string, limit: number): Promise<boolean> {
  try {
    return await statements(call, text, limit);
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    call.io.err(`${error.message}\n`);
    return false;
  }
}

/**
 * Runs the statements one after the other; false when a query has failed while it ran, what follows is not run then.
 */
async function statements(call: Call, text: string, limit: number): Promise<boolean> {
  for (const sql of splitStatements(text)) {
    if (!(await statement(call, sql, limit))) return false;
  }
  return true;
}

/** Cuts the text at the semicolons that stand neither in quotes nor in comments. */
function splitStatements(text: string): string[] {
  const piece = /"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`[^`]*`|--[^\n]*|\/\*[\s\S]*?\*\/|[\s\S]/g;
  const found = [''];
  for (const [part] of text.matchAll(piece)) {
    if (part === ';') found.push('');
    else found[found.length - 1] += part;
  }
  return found.map((sql) => sql.trim()).filter((sql) => sql !== '');
}

/** Runs one statement; false when the query has failed while it ran. */
async function statement(call: Call, sql: string, limit: number): Promise<boolean> {
  if (/^(select|with)\b/i.test(sql)) return select(call, sql, limit);
  const isTable = /^(?:\s|--.*|\/\*[\s\S]*?\*\/)*(create|drop|describe)\s+table\b|^\s*show\s+tables\b/i.test(sql);
  call.print(await call.client.send('POST', isTable ? '/tables' : '/streams', { sql }));
  return true;
}

/** Runs a query as a test rule. */
async function select(call: Call, sql: string, limit: number): Promise<boolean> {
  const { client, io } = call;
  const id = `query_${process.pid}_${randomBytes(4).toString('hex')}`;
  const options = optionsOf(call);
  const body = { id, sql, sinkProps: { sendSingle: true }, ...(options && { options }) };
  const { json } = await client.send('POST', '/ruletest', body);
  let stop: () => void = () => {};
  const stopped = new Promise<void>((resolve) => {
    stop = resolve;
  });
  let rows = 0;
  let isGood = true;
  const take = (data: string) => {
    const found = rowsIn(data);
    if (found === undefined) {
      isGood = false;
      io.err(`${data}\n`);
      return;
    }
    for (const row of found) {
      if (rows === limit) return;
      rows++;
      io.out(`${JSON.stringify(row)}\n`);
    }
    if (rows === limit) stop();
  };
  const release = io.onInterrupt(stop);
  try {
    const base = call.flag('events-url')?.replace(/\/+$/, '') ?? eventBase(client.base, json);
    const note = (text: string) => {
      io.err(`${text}\n`);
      if (text.startsWith(endNote)) stop();
    };
    const events = await openEvents(`${base}/test/${id}`, client.token, take, note);
    try {
      await client.send('POST', `/ruletest/${id}/start`);
      if (io.isInteractive) io.err('Ctrl-C ends the query.\n');
      await Promise.race([stopped, events.ended]);
    } finally {
      events.close();
    }
  } finally {
    release();
    await client.send('DELETE', `/ruletest/${id}`);
  }
  return isGood;
}

/** The rows of an event; undefined when it is a text, which stands for an error. */
function rowsIn(data: string): unknown[] | undefined {
  try {
    const value: unknown = JSON.parse(data);
    return Array.isArray(value) ? value : isObject(value) ? [value] : undefined;
  } catch {
    return undefined;
  }
}

function eventBase(base: string, answer: unknown): string {
  const port = isObject(answer) ? answer.port : undefined;
  if (typeof port !== 'number') throw new RequestError('the server does not tell the port of its event stream');
  const url = new URL(base);
  return `${url.protocol}//${url.hostname}:${port}`;
}
