/** Import and export of configurations, installation of plugins from local files. */
import { readFileSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { pathToFileURL } from 'node:url';
import { reasonOf } from '../../base/errors.js';
import { isObject } from '../../base/structures/is-object.js';
import { type Call, UsageError } from './command.js';
import { definition, named, readText } from './input.js';
import { table } from './print.js';
import { type Answer, RequestError } from './rest-client.js';
import { importFailures } from './status.js';

/** Imports start plugins and may take long. */
const longMs = 600_000;
const progressMs = 1000;
/** Sections of what `export ruleset` writes. */
const rulesetSections: readonly string[] = ['streams', 'tables', 'rules'];

/** `import ruleset -f FILE`; returns the exit code, 1 when items were refused or secrets are missing. */
export async function importRuleset(call: Call): Promise<number> {
  const content = readText(required(call));
  const answer = await long(call, 'importing', (limit) =>
    call.client.send('POST', '/ruleset/import', { content }, limit),
  );
  call.print(answer);
  if (call.isJson) warn(call, answer.warnings);
  return answer.warnings.length === 0 ? 0 : 1;
}

/**
 * `import data -f FILE`, JSON or YAML; lists the items that failed and the secrets that are missing, and then returns
 * exit code 1.
 */
export async function importData(call: Call): Promise<number> {
  const file = required(call);
  const content = readText(file);
  const isYaml = /\.ya?ml$/i.test(file);
  const query = [call.flag('partial') === 'true' ? 'partial=1' : '', call.flag('stop') === 'true' ? 'stop=1' : '']
    .filter((part) => part !== '')
    .join('&');
  if (isYaml && query !== '') throw new UsageError('YAML imports always merge: -p and -s are for JSON');
  const isReset = !isYaml && call.flag('partial') !== 'true';
  const document = isReset ? documentIn(content) : undefined;
  if (document !== undefined && call.flag('force') !== 'true') refuseRuleset(file, document);
  const before = document === undefined ? undefined : await exported(call);
  const path = isYaml ? '/v2/data/import' : `/data/import${query === '' ? '' : `?${query}`}`;
  try {
    const answer = await long(call, 'importing', (limit) => call.client.send('POST', path, { content }, limit));
    if (call.isJson) call.print(answer);
    else call.io.out('imported\n');
    if (document !== undefined && before !== undefined) warn(call, removedBy(document, before));
    const missing = missingIn(answer);
    warn(call, missing);
    return missing.length === 0 ? 0 : 1;
  } catch (error) {
    const failures = error instanceof RequestError ? failuresIn(error.message) : [];
    if (failures.length === 0 || call.isJson) throw error;
    call.io.err(`haumea: some items were not imported\n${table(failures)}`);
    return 1;
  }
}

function warn(call: Call, warnings: readonly string[]): void {
  for (const warning of warnings) call.io.err(`haumea: ${warning}\n`);
}

type Document = Readonly<Record<string, unknown>>;

/** Parses a document; undefined when the text is none, as the server then gives the reason. */
function documentIn(text: string): Document | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Throws for a file that `import ruleset` adds to what is there: here it would take the place of everything. */
function refuseRuleset(file: string, document: Document): void {
  const names = Object.keys(document);
  if (names.length === 0 || !names.every((name) => rulesetSections.includes(name))) return;
  throw new UsageError(
    `${file} is a ruleset: haumea import ruleset -f ${file} adds it, import data -p merges it; ` +
      'without -p everything that is not in the file is removed, keys of connectors as well (--force does that)',
  );
}

/** Document of the server's present content; undefined when the server does not give it. */
async function exported(call: Call): Promise<Document | undefined> {
  try {
    const { json } = await call.client.send('GET', '/data/export?secrets=omit');
    return isObject(json) ? json : undefined;
  } catch (error) {
    if (error instanceof RequestError) return undefined;
    throw error;
  }
}

/** Items that were there before and are not in the document, one line for each kind. */
function removedBy(document: Document, before: Document): string[] {
  return Object.entries(before).flatMap(([section, items]) => {
    const kept = new Set(namesIn(section, document[section]));
    const removed = namesIn(section, items).filter((name) => !kept.has(name));
    return removed.length === 0 ? [] : [`removed ${section}: ${removed.join(', ')}`];
  });
}

/** Names of the items of a section, `mqtt.plant` for keys of connectors. */
function namesIn(section: string, items: unknown): string[] {
  if (!isObject(items)) return [];
  if (!section.endsWith('Config')) return Object.keys(items);
  return Object.entries(items).flatMap(([type, keys]) => {
    const named = typeof keys === 'string' ? documentIn(keys) : undefined;
    return Object.keys(named ?? {}).map((key) => `${type}.${key}`);
  });
}

/** Warnings of the answer, and secrets that the document did not hold, one sentence each. */
function missingIn({ json, warnings }: Answer): readonly string[] {
  const missing = isObject(json) && Array.isArray(json.MissingSecrets) ? json.MissingSecrets : [];
  return [...warnings, ...missing.map((place) => `a secret of ${place} was left out of the file and is missing`)];
}

/** The message of a failed import is the JSON text of its status, perhaps behind a context. */
function failuresIn(message: string): ReturnType<typeof importFailures> {
  const start = message.indexOf('{');
  if (start < 0) return [];
  try {
    const status: unknown = JSON.parse(message.slice(start));
    return importFailures(isObject(status) && isObject(status.ConfigResponse) ? status.ConfigResponse : status);
  } catch {
    return [];
  }
}

/** `export ruleset FILE`; returns the exit code. */
export async function exportRuleset(call: Call): Promise<number> {
  const answer = await long(call, 'exporting', (limit) =>
    call.client.send('POST', `/ruleset/export${secretsQuery(call)}`, undefined, limit),
  );
  return save(call, answer);
}

/** `export data FILE [-r RULES]`, JSON or by its ending YAML; returns the exit code. */
export async function exportData(call: Call): Promise<number> {
  const rules = call.flag('rules');
  const isYaml = /\.ya?ml$/i.test(call.arg('file'));
  if (rules !== undefined && isYaml) throw new UsageError('-r needs a JSON file');
  const query = secretsQuery(call);
  const answer = await long(call, 'exporting', (limit) =>
    rules === undefined
      ? call.client.send('GET', `${isYaml ? '/v2/data/export' : '/data/export'}${query}`, undefined, limit)
      : call.client.send('POST', `/data/export${query}`, idsOf(rules), limit),
  );
  return save(call, answer);
}

function idsOf(text: string): string[] {
  if (!text.trim().startsWith('['))
    return text
      .split(',')
      .map((id) => id.trim())
      .filter((id) => id !== '');
  try {
    const ids: unknown = JSON.parse(text);
    if (Array.isArray(ids) && ids.every((id) => typeof id === 'string')) return ids;
  } catch {
    // Said below in the same words.
  }
  throw new UsageError('-r needs an array of rule ids: ["a","b"] or a,b');
}

function secretsQuery(call: Call): string {
  return call.flag('no-secrets') === 'true' ? '?secrets=omit' : '';
}

function save(call: Call, { text, warnings }: Answer): number {
  const file = call.arg('file');
  // The server names what its own clients would send.
  const said = warnings.map((warning) => warning.replace('secrets=omit leaves', '--no-secrets leaves'));
  warn(call, said);
  if (file === '-') {
    call.io.out(text.endsWith('\n') ? text : `${text}\n`);
    return 0;
  }
  try {
    // Exports hold passwords, or they could not be imported again.
    writeFileSync(file, text, { mode: 0o600 });
  } catch (error) {
    throw new UsageError(`can't write ${file}: ${reasonOf(error)}`);
  }
  if (!call.isJson) call.io.out(`exported to ${file}\n`);
  return 0;
}

/** Installs a plugin; a local file is uploaded first, so that the server may be another machine. */
export async function createPlugin(call: Call, path: string): Promise<number> {
  const zip = call.flag('zipfile');
  const name = call.arg('name');
  if (zip === undefined) {
    const body = named(definition(call), 'name', name);
    call.print(await long(call, 'installing', (limit) => call.client.send('POST', path, body, limit)));
    return 0;
  }
  if (call.flag('file') !== undefined || call.arg('json') !== '') throw new UsageError('-zf excludes json and -f');
  const uploaded = await upload(call, zip);
  try {
    const body = { name, file: pathToFileURL(uploaded).href };
    call.print(await long(call, 'installing', (limit) => call.client.send('POST', path, body, limit)));
  } finally {
    await call.client.send('DELETE', `/config/uploads/${encodeURIComponent(basename(uploaded))}`);
  }
  return 0;
}

/** Returns the path of the file on the server. */
async function upload(call: Call, file: string): Promise<string> {
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch (error) {
    throw new UsageError(`can't read ${file}: ${reasonOf(error)}`);
  }
  const form = new FormData();
  form.append('uploadFile', new Blob([bytes]), basename(file));
  return (
    await long(call, 'uploading', (limit) => call.client.send('POST', '/config/uploads', form, limit))
  ).text.trim();
}

function required(call: Call): string {
  const file = call.flag('file');
  if (file === undefined) throw new UsageError('a file is missing: -f FILE');
  return file;
}

/** Runs work that may take minutes; somebody who waits at a terminal sees that it goes on. */
async function long<T>(call: Call, what: string, work: (timeoutMs?: number) => Promise<T>): Promise<T> {
  const started = performance.now();
  let isShown = false;
  const show = () => {
    isShown = true;
    call.io.err(`\r${what} … ${Math.round((performance.now() - started) / 1000)} s`);
  };
  const timer = call.io.isInteractive ? setInterval(show, progressMs) : undefined;
  try {
    return await work(call.hasOwnTimeout ? undefined : longMs);
  } finally {
    clearInterval(timer);
    if (isShown) call.io.err('\r\u001b[K');
  }
}
