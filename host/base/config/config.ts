/** Reads the configuration: the file, then the environment over it, checked against the table of config-spec.ts. */
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { reasonOf, yamlReason } from '../errors.js';
import { type Field, type Parsed, parse, type Spec } from '../fields/field.js';
import { nearest } from '../text/nearest.js';
import { configSpec } from './config-spec.js';
import { configErrors } from './errors.js';

export type Config = Parsed<typeof configSpec>;

/** Folders of the program, absolute. */
export interface Folders {
  readonly etc: string;
  readonly data: string;
  readonly log: string;
}

export interface ConfigRequest {
  /** Configuration file; without it `kuiper.yaml` of the etc folder, which may be missing. */
  readonly file?: string;
  readonly etc?: string;
  readonly data?: string;
  readonly log?: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface LoadedConfig {
  readonly config: Config;
  readonly folders: Folders;
  /** Variables that look as if they were meant for the configuration, a sentence each. */
  readonly warnings: readonly string[];
}

/** Variables of the main configuration file begin with its name. */
const envPrefix = 'KUIPER__';

/**
 * Loads the configuration; throws a `config` error with a line for each fault, which names the file or variable, the
 * key and the reason.
 */
export async function loadConfig(request: ConfigRequest): Promise<LoadedConfig> {
  const base = resolve(request.env.KuiperBaseKey || '.');
  const data = resolve(base, request.data ?? 'data');
  const folders = {
    etc: resolve(base, request.etc ?? 'etc'),
    data,
    log:
      request.log !== undefined
        ? resolve(base, request.log)
        : request.data !== undefined
          ? join(data, 'log')
          : join(base, 'log'),
  };
  const named = request.file === undefined ? undefined : resolve(request.file);
  const file = named ?? join(folders.etc, 'kuiper.yaml');
  const tree = named !== undefined || existsSync(file) ? await readYaml(file) : {};
  const problems: string[] = [];
  const fromFile = parse(configSpec, tree, { where: file, unknown: 'reject', problems });
  const { tree: overrides, isEmpty } = readEnvironment(request.env, problems);
  const warnings = strangersIn(request.env);
  if (problems.length === 0 && isEmpty) return { config: fromFile, folders, warnings };
  // Problems in the file itself are reported with its name.
  const whole = problems.length === 0 ? merge(tree, overrides) : overrides;
  const merged = parse(configSpec, whole, { where: 'environment', unknown: 'reject', problems });
  if (problems.length > 0) throw configErrors.problems(problems.join('\n'));
  return { config: merged, folders, warnings };
}

/** Reads a YAML file whose top level is a mapping. */
export async function readYaml(path: string): Promise<Record<string, unknown>> {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw configErrors.unreadable(path, reasonOf(error), { cause: error });
  }
  const { default: yaml } = await import('yaml');
  let tree: unknown;
  try {
    tree = yaml.parse(text);
  } catch (error) {
    throw configErrors.notYaml(path, yamlReason(error), { cause: error });
  }
  if (tree === null || tree === undefined) return {};
  if (!isTree(tree)) throw configErrors.notMapping(path);
  return tree;
}

/** Collects `KUIPER__…` variables into the form of the file, with the names the table gives them. */
function readEnvironment(
  env: ConfigRequest['env'],
  problems: string[],
): { tree: Record<string, unknown>; isEmpty: boolean } {
  const tree: Record<string, unknown> = {};
  let isEmpty = true;
  for (const [name, value] of Object.entries(env)) {
    if (!name.startsWith(envPrefix) || value === undefined) continue;
    isEmpty = false;
    const path = declaredPath(name);
    if (typeof path === 'string') {
      problems.push(path);
      continue;
    }
    let node = tree;
    for (const step of path.slice(0, -1)) {
      node[step] ??= {};
      node = node[step] as Record<string, unknown>;
    }
    node[path.at(-1) as string] = value;
  }
  return { tree, isEmpty };
}

/** Names variables that are one underscore short of a key; others of the prefix belong to those who run us. */
function strangersIn(env: ConfigRequest['env']): string[] {
  return Object.keys(env).flatMap((name) => {
    if (!/^KUIPER_[^_]/i.test(name)) return [];
    const whole = `${envPrefix}${name.slice('KUIPER_'.length)}`;
    const candidates = [whole, whole.replace(/^(KUIPER__[A-Za-z0-9]+)_([^_])/, '$1__$2')];
    const meant = candidates.find((text) => typeof declaredPath(text) !== 'string');
    if (meant === undefined) return [];
    return [`environment variable ${name} has no effect, did you mean ${meant}?`];
  });
}

/** Finds the key of a variable, `KUIPER__BASIC__RESTPORT` → basic, restPort, or returns why it names none. */
function declaredPath(variable: string): string[] | string {
  const path: string[] = [];
  let spec: Spec | undefined = configSpec;
  for (const step of variable.slice(envPrefix.length).split('__')) {
    // Below a free-form object any name is allowed.
    if (spec === undefined) {
      path.push(step.toLowerCase());
      continue;
    }
    const names: string[] = Object.keys(spec);
    const name: string | undefined = names.find((known) => known.toLowerCase() === step.toLowerCase());
    if (name === undefined) {
      const meant = nearest(step, names);
      const known = [...path, ''].join('.');
      return (
        `environment variable ${variable} names no known ` +
        `key${meant === undefined ? '' : `, did you mean ${known}${meant}?`}`
      );
    }
    path.push(name);
    spec = (spec[name] as Field<unknown>).declared.fields;
  }
  return path;
}

/**
 * Collects the variables of a source's configuration keys: with the prefix MQTT_SOURCE, `MQTT_SOURCE__DEFAULT__SERVER`
 * gives `{ default: { server: … } }`. Values are typed by their look.
 */
export function keysFromEnvironment(
  prefix: string,
  env: Readonly<Record<string, string | undefined>>,
): Record<string, Record<string, unknown>> {
  const tree: Record<string, Record<string, unknown>> = {};
  for (const [name, value] of Object.entries(env)) {
    const [file, key, ...steps] = name.split('__');
    const last = steps.pop()?.toLowerCase();
    if (file !== prefix || key === undefined || last === undefined || value === undefined) continue;
    let node = tree[key.toLowerCase()] ?? {};
    tree[key.toLowerCase()] = node;
    for (const step of steps) {
      node[step.toLowerCase()] ??= {};
      node = node[step.toLowerCase()] as Record<string, unknown>;
    }
    node[last] = typedByLook(value);
  }
  return tree;
}

function typedByLook(text: string): unknown {
  if (/^(true|false)$/i.test(text)) return text.toLowerCase() === 'true';
  if (/^-?\d+(\.\d+)?$/.test(text) && Number.isFinite(Number(text))) return Number(text);
  if (text.startsWith('[') && text.endsWith(']')) {
    const inner = text.slice(1, -1).trim();
    return inner === '' ? [] : inner.split(',').map((item) => typedByLook(item.trim()));
  }
  return text;
}

/** Lays the environment over the file; keys of the file match in any letter case. */
function merge(file: Record<string, unknown>, over: Record<string, unknown>): Record<string, unknown> {
  const out = { ...file };
  for (const [name, value] of Object.entries(over)) {
    const existing = Object.keys(out).find((key) => key.toLowerCase() === name.toLowerCase());
    const before = existing === undefined ? undefined : out[existing];
    if (existing !== undefined) delete out[existing];
    out[name] = isTree(value) && isTree(before) ? merge(before, value) : value;
  }
  return out;
}

function isTree(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
