/** The export document: twelve maps of names to texts. Reads and writes its two generations, JSON and YAML. */
import { reasonOf } from '../../base/errors.js';
import { beyondBounds } from '../../base/text/json-bounds.js';
import { nearest } from '../../base/text/nearest.js';
import { transferErrors } from './errors.js';
import { type SectionName, sectionNames } from './sections.js';
import { parseYaml } from './yaml-text.js';

/** Items by section and name. Values of an import that was read are still of any kind. */
export type Items<V> = ReadonlyMap<SectionName, ReadonlyMap<string, V>>;

type Tree = Record<string, unknown>;

/** Sections of connector properties and the word that leads their keys in YAML. */
const configWords = { sourceConfig: 'sources', sinkConfig: 'sinks', connectionConfig: 'connections' } as const;

/** Turns items into the object that is sent as JSON; sections without items are there and empty. */
export function documentOf<V>(items: Items<V>): Record<SectionName, Record<string, V>> {
  const out = {} as Record<SectionName, Record<string, V>>;
  for (const section of sectionNames) out[section] = Object.fromEntries(items.get(section) ?? []);
  return out;
}

/** Reads a JSON document; throws when it as a whole can't be used. */
export function readJson(text: string): Items<unknown> {
  const fault = beyondBounds(Buffer.from(text));
  if (fault !== undefined) throw transferErrors.content(fault);
  let tree: unknown;
  try {
    tree = JSON.parse(text);
  } catch (error) {
    throw transferErrors.notJson(reasonOf(error), { cause: error });
  }
  return readSections(tree, 'JSON object');
}

/** Reads a YAML document on this thread; see `readYaml`. */
export async function itemsOfYaml(text: string): Promise<Items<unknown>> {
  const tree = await parseYaml(text);
  const items = new Map<SectionName, ReadonlyMap<string, unknown>>();
  for (const [section, values] of readSections(tree ?? {}, 'YAML mapping')) {
    if (section in configWords) items.set(section, groupKeys(section as keyof typeof configWords, values));
    else items.set(section, new Map([...values].map(([name, value]) => [name, textOfYaml(section, name, value)])));
  }
  return items;
}

/** Writes items as YAML. */
export async function writeYaml(items: Items<string>): Promise<string> {
  const { default: yaml } = await import('yaml');
  const tree: Record<string, Tree> = {};
  for (const section of sectionNames) {
    const entries = [...(items.get(section) ?? [])];
    if (section in configWords) tree[section] = spreadKeys(section as keyof typeof configWords, entries);
    else tree[section] = Object.fromEntries(entries.map(([name, text]) => [name, yamlOfText(section, text)]));
  }
  // Statements stay on one line, so that they can be searched for and compared.
  return yaml.stringify(tree, { lineWidth: 0 });
}

function readSections(tree: unknown, expected: string): Map<SectionName, Map<string, unknown>> {
  if (!isTree(tree)) throw transferErrors.form(expected);
  const items = new Map<SectionName, Map<string, unknown>>();
  for (const [name, values] of Object.entries(tree)) {
    // YAML exports of the other engine write all sections with a small letter.
    const section = sectionNames.find((known) => known === name || known === capital(name));
    if (section === undefined) {
      const meant = nearest(name, [...sectionNames]);
      const hint = meant === undefined ? `there are ${sectionNames.join(', ')}` : `did you mean ${meant}?`;
      throw transferErrors.unknownMap(name, hint);
    }
    if (values === null || values === undefined) continue;
    if (!isTree(values)) throw transferErrors.notMap(name);
    items.set(section, new Map(Object.entries(values)));
  }
  return items;
}

/** `sources.mqtt.k: {…}` → `mqtt: '{"k": {…}}'`. */
function groupKeys(section: keyof typeof configWords, values: ReadonlyMap<string, unknown>): Map<string, string> {
  const groups = new Map<string, [string, unknown][]>();
  for (const [name, properties] of values) {
    const [word, type, ...rest] = name.split('.');
    if (word !== configWords[section] || !type || rest.length === 0) {
      throw transferErrors.configName(section, name, configWords[section]);
    }
    const group = groups.get(type) ?? [];
    groups.set(type, group);
    group.push([rest.join('.'), properties]);
  }
  return new Map([...groups].map(([type, keys]) => [type, JSON.stringify(Object.fromEntries(keys))]));
}

function spreadKeys(section: keyof typeof configWords, entries: readonly [string, string][]): Tree {
  return Object.fromEntries(
    entries.flatMap(([type, text]) =>
      Object.entries(JSON.parse(text) as Tree).map(([key, properties]) => [
        `${configWords[section]}.${type}.${key}`,
        properties,
      ]),
    ),
  );
}

function textOfYaml(section: SectionName, name: string, value: unknown): unknown {
  if (section === 'streams' || section === 'tables') return isTree(value) ? value.sql : value;
  if (section === 'rules' && isTree(value)) return JSON.stringify({ id: name, ...value });
  return isTree(value) ? JSON.stringify(value) : value;
}

function yamlOfText(section: SectionName, text: string): unknown {
  if (section === 'streams' || section === 'tables') return { sql: text };
  const value: unknown = JSON.parse(text);
  return section === 'rules' && isTree(value) ? { triggered: true, ...value } : value;
}

function capital(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}

function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
