/**
 * The forms that portable plugins bring of their sources and sinks, as files of JSON: texts by `en_US` and `zh_CN`,
 * which clients get as `en` and `zh`.
 */
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { reasonOf } from '../../base/errors.js';
import { isObject } from '../../base/structures/is-object.js';
import type { PortableCode } from '../../plugins/portable/code.js';
import { type About, type FormField, type Text, text } from './property-form.js';

type Json = Record<string, unknown>;

export type FormOwner = 'sources' | 'sinks';

export interface PluginForm {
  readonly about: About;
  readonly libs: readonly unknown[];
  readonly dataSource: Json;
  /** A list for a sink; for a source one by each configuration key. */
  readonly properties: readonly FormField[] | Readonly<Record<string, readonly FormField[]>>;
  readonly node: Json;
}

/** Path of a form in the archive of a plugin. */
export function formPath(owner: FormOwner, name: string): string {
  return `${owner}/${name}.json`;
}

/** Largest form that is read, bytes. */
const maxFormBytes = 1 << 20;
/** Objects within objects that are shown; what lies deeper stays as it is. */
const maxDepth = 8;

/** The form in the folder of a plugin; undefined where it brings none that can be read. */
export async function pluginForm(code: PortableCode, owner: FormOwner, name: string): Promise<PluginForm | undefined> {
  const path = join(code.folder, formPath(owner, name));
  try {
    if ((await stat(path)).size > maxFormBytes) return undefined;
    return readForm(await readFile(path), owner, name);
  } catch {
    // The installation has told why.
    return undefined;
  }
}

/** Why nothing can be shown of a form; undefined when it can. */
export function formReason(bytes: Buffer, owner: FormOwner, name: string): string | undefined {
  if (bytes.length > maxFormBytes) return `it has ${bytes.length} bytes, more than ${maxFormBytes}`;
  try {
    readForm(bytes, owner, name);
    return undefined;
  } catch (error) {
    return reasonOf(error);
  }
}

function readForm(bytes: Buffer, owner: FormOwner, name: string): PluginForm {
  const form: unknown = JSON.parse(bytes.toString());
  if (!isObject(form)) throw new Error('it is no object');
  const { about, libs, dataSource, properties, node } = form;
  if (!isObject(about)) throw new Error('it has no object about');
  const byKey = Object.entries(isObject(properties) ? properties : {});
  return {
    about: aboutOf(about),
    libs: Array.isArray(libs) ? libs : [],
    dataSource: isObject(dataSource) ? withTexts(dataSource, ['hint', 'label']) : {},
    properties:
      owner === 'sinks'
        ? fieldsOf(properties)
        : Object.fromEntries(byKey.map(([key, fields]) => [key, fieldsOf(fields)] as const)),
    node: isObject(node) ? withTexts(node, ['label']) : nodeOf(owner, name),
  };
}

function nodeOf(owner: FormOwner, name: string): Json {
  return { category: owner.slice(0, -1), icon: 'iconPath', label: text(name) };
}

function aboutOf({ trial, author, helpUrl, description }: Json): About {
  const of = isObject(author) ? author : {};
  const word = (value: unknown) => (typeof value === 'string' ? value : '');
  return {
    trial: trial === true,
    installed: true,
    author: { name: word(of.name), email: word(of.email), company: word(of.company), website: word(of.website) },
    helpUrl: textOf(helpUrl),
    description: textOf(description),
  };
}

/** A text in both languages; one that is there in a single one stands for the other. */
function textOf(given: unknown): Text {
  const texts = isObject(given) ? given : {};
  const found = (names: string[]) => names.map((name) => texts[name]).find((one) => typeof one === 'string');
  const english = found(['en_US', 'en']);
  const chinese = found(['zh_CN', 'zh']);
  return { en: String(english ?? chinese ?? ''), zh: String(chinese ?? english ?? '') };
}

/** The object with those texts in both languages, beside what it has. */
function withTexts(given: Json, names: readonly string[]): Json {
  const texts = names.filter((name) => isObject(given[name]));
  return {
    ...given,
    ...Object.fromEntries(texts.map((name) => [name, { ...(given[name] as Json), ...textOf(given[name]) }])),
  };
}

function fieldsOf(given: unknown, depth = 0): FormField[] {
  if (!Array.isArray(given)) return [];
  return given.filter(isObject).map((field) => fieldOf(field, depth));
}

function fieldOf(field: Json, depth: number): FormField {
  const { name, default: value, type, control, connection_related, optional, values, hint, label } = field;
  const isNested = Array.isArray(value) && value.every(isObject) && depth < maxDepth;
  return {
    exist: false,
    name: String(name ?? ''),
    default: isNested ? fieldsOf(value, depth + 1) : (value ?? null),
    type: String(type ?? ''),
    control: String(control ?? ''),
    connection_related: connection_related === true,
    optional: optional === true,
    values: Array.isArray(values) ? values : null,
    hint: textOf(hint),
    label: textOf(label),
  };
}
