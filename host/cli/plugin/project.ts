/** The folder of a plugin: `plugin.json` says how it is built and tried. Paths are those of the folder. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve, sep } from 'node:path';
import { reasonOf } from '../../base/errors.js';
import { field, type Parsed, parse } from '../../base/fields/field.js';
import { checkId } from '../../meta/ids.js';
import { withManifest } from '../../plugins/wasm/exports/embed.js';
import type { GivenFile } from '../../plugins/wasm/guest/files/tree.js';
import { type Call, UsageError } from '../client/command.js';

const projectFile = 'plugin.json';

const projectSpec = {
  name: field.string().required().doc('Name of the plugin'),
  build: field.string().doc('Command that builds it; programs of node_modules are found'),
  module: field.string().doc('The module that is built'),
  manifest: field.string().doc('What the module says of its functions, written into it'),
  files: field.string().doc('Folder of files that the module sees below /'),
  script: field.string().doc('In the place of a module: a script'),
  portable: field.string().oneOf('python').doc('In the place of a module: a program; the whole folder is the plugin'),
  isAgg: field.bool().default(false).doc('The function of the script is an aggregate'),
  limits: field.object().doc('Limits of the module, as in the request'),
  wasi: field.object().doc('What the module is given of the machine, as in the request'),
  isolate: field.bool().doc('The module runs on a thread of its own, as in the request'),
  test: field
    .object({
      sql: field.string().default('').doc('Statement over the stream input'),
      columns: field.string().default('').doc('Columns that it declares: `id BIGINT, name STRING`'),
      args: field.list(field.string().required()).doc('Of a program: arguments behind those of wasi'),
      rows: field.string().default('rows.jsonl').doc('Rows of it, a JSON object on each line'),
      messages: field.string().default('').doc('Of a codec: messages that it makes rows of, in the place of rows'),
      codec: field.string().default('').doc('Its name, where there are several'),
      encoded: field
        .string()
        .default('encoded.hex')
        .doc('What it makes of the rows that come out, where that is known'),
      expected: field.string().default('expected.jsonl').doc('What comes out, where that is known'),
    })
    .doc('How it is tried'),
};

export type Project = Parsed<typeof projectSpec> & {
  /** Absolute path of the folder of the project. */
  readonly folder: string;
};

/** Reads the project of the folder that the command line names, or of the current one. */
export function projectOf(call: Call): Project {
  const folder = resolve(call.arg('folder') || '.');
  const path = join(folder, projectFile);
  const problems: string[] = [];
  const project = parse(projectSpec, jsonOf(path), { where: path, unknown: 'reject', problems });
  if (problems.length > 0) throw new UsageError(problems.join('\n'));
  checkId(project.name);
  const given = [project.module, project.script, project.portable].filter((one) => one !== undefined);
  if (given.length !== 1) throw new UsageError(`${path}: either module, script or portable must be given`);
  return { ...project, folder };
}

/** Reads a file of the project; what is not there yet has to be built. */
export function readOf(project: Project, file: string): Buffer {
  try {
    return readFileSync(join(project.folder, file));
  } catch (error) {
    const hint = file === project.module ? '; haumea plugin build makes it' : '';
    throw new UsageError(`can't read ${join(project.folder, file)}: ${reasonOf(error)}${hint}`);
  }
}

/** The module with its manifest in it. */
export function moduleOf(project: Project, module: string): Uint8Array {
  const bytes = readOf(project, module);
  return project.manifest === undefined ? bytes : withManifest(bytes, readOf(project, project.manifest).toString());
}

/** The files that the module sees, in the order of their paths. */
export function filesOf({ folder, files }: Project): GivenFile[] {
  if (files === undefined) return [];
  const root = join(folder, files);
  try {
    return readdirSync(root, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .sort()
      .map((path) => ({ path: relative(root, path).split(sep).join('/'), bytes: readFileSync(path) }));
  } catch (error) {
    throw new UsageError(`can't read ${root}: ${reasonOf(error)}`);
  }
}

function jsonOf(path: string): unknown {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new UsageError(`can't read ${path}: ${reasonOf(error)}; haumea plugin new NAME makes a plugin`);
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new UsageError(`${path} is no JSON: ${reasonOf(error)}`);
  }
}
