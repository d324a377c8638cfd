/** `haumea plugin build`: runs the command of the project and looks at what came out. */
import { spawn } from 'node:child_process';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Script } from 'node:vm';
import { HaumeaError, reasonOf } from '../../base/errors.js';
import { programFile } from '../../base/program/bundle.js';
import { directions } from '../../plugins/wasm/exports/codecs.js';
import { prepare } from '../../plugins/wasm/prepare/prepare.js';
import { type Call, UsageError } from '../client/command.js';
import { describeModule } from './assemblyscript.js';
import { moduleOf, type Project, projectOf, readOf } from './project.js';

export async function buildPlugin(call: Call): Promise<number> {
  const project = projectOf(call);
  if (project.portable !== undefined) {
    call.io.out(`${project.name}.json: a program in ${project.portable}, of which nothing is built\n`);
    return 0;
  }
  if (project.build !== undefined) {
    const code = await run(project.build, project.folder, call);
    if (code !== 0) {
      call.io.err(`haumea: ${project.build}: exit code ${code}${code === 127 ? hintFor(project.build) : ''}\n`);
      return 1;
    }
  }
  try {
    describeModule(project);
    call.io.out(described(project));
    return 0;
  } catch (error) {
    if (!(error instanceof HaumeaError)) throw error;
    call.io.err(`haumea: ${reasonOf(error)}\n`);
    return 1;
  }
}

function described(project: Project): string {
  const { name, module, script } = project;
  if (module === undefined) {
    const file = script ?? '';
    try {
      new Script(readOf(project, file).toString(), { filename: file });
    } catch (error) {
      if (error instanceof UsageError) throw error;
      throw new HaumeaError('general', `${file} is no JavaScript: ${reasonOf(error)}`);
    }
    return `${file}: function ${name}\n`;
  }
  const bytes = moduleOf(project, module);
  const { manifest, others, warnings, isProgram } = prepare(bytes);
  if (manifest.functions.length === 0 && (manifest.codecs ?? []).length === 0 && !isProgram) {
    const why = others.map(([other, reason]) => ` (${other}: ${reason})`).join('');
    throw new HaumeaError('general', `${module} exports no functions that rules can call${why}`);
  }
  const lines = manifest.functions.map(
    (one) => `  ${one.name}(${one.args.map((arg) => `${arg.name}: ${arg.type}`).join(', ')}): ${one.result}`,
  );
  const codecs = (manifest.codecs ?? []).map((codec) => {
    const able = directions.filter((direction) => codec[direction] !== undefined);
    return `  codec ${codec.name}: ${able.join(', ')}`;
  });
  const skipped = others.map(([other, reason]) => `  not a function of SQL: ${other}, ${reason}`);
  const program = isProgram ? ['  a program: sources and sinks can run it'] : [];
  const odd = warnings.map((warning) => `  warning: ${warning}`);
  return `${[`${module}, ${bytes.length} bytes:`, ...lines, ...codecs, ...program, ...skipped, ...odd].join('\n')}\n`;
}

/** Runs a command line; programs of packages beside the plugin are found, then those beside this program. */
function run(command: string, folder: string, call: Call): Promise<number> {
  const own = fileURLToPath(programFile('../node_modules/.bin', 'node_modules/.bin'));
  const path = [join(folder, 'node_modules', '.bin'), own, process.env.PATH ?? ''].join(delimiter);
  return new Promise((resolve, reject) => {
    const child = spawn(command, { cwd: folder, shell: true, env: { ...process.env, PATH: path } });
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => call.io.err(String(chunk)));
    child.on('error', reject);
    child.on('close', (code) => resolve(code ?? 1));
  });
}

function hintFor(command: string): string {
  const program = command.split(' ', 1)[0] ?? '';
  const hints: Readonly<Record<string, string>> = {
    asc: 'npm install in this folder brings asc, the compiler of AssemblyScript',
    cargo: 'Rust is needed: https://rustup.rs, then rustup target add wasm32-unknown-unknown',
    clang: 'clang and lld with the target wasm32 are needed: apt install clang lld',
  };
  return hints[program] === undefined ? '' : `: ${hints[program]}`;
}
