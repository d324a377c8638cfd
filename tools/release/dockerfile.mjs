/**
 * Runs the steps of a Dockerfile as a script, for machines that can't build images: each stage is a folder, COPY copies
 * between them, RUN runs in a shell. What it can't show is the base images: programs and libraries are those of this
 * machine.
 *
 *     node tools/release/dockerfile.mjs FOLDER             every step, as another user where this one may change to it
 *     node tools/release/dockerfile.mjs --reuse FOLDER     packages and build of this checkout instead of new ones
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { root } from '../root.mjs';

const file = 'examples/deploy/docker/Dockerfile';

/** No user of a machine has this id: it owns nothing but what the steps make. */
const builder = 64_999;

/** Steps whose results the checkout has already, and what is taken instead. */
const reused = [
  [/^npm ci\b/, 'node_modules'],
  [/^node tools\/setup\.mjs$/, 'dist'],
];

/** Instructions of a Dockerfile, `[name, rest]`; lines that end with a backslash go on. */
export function instructionsOf(text) {
  const lines = text
    .replace(/^#.*\n/gm, '')
    .replace(/\\\n/g, ' ')
    .split('\n');
  return lines.flatMap((line) => {
    const [, name, rest] = /^([A-Z]+)\s+(.*?)\s*$/.exec(line) ?? [];
    return name === undefined ? [] : [[name, rest]];
  });
}

/** Tells whether .dockerignore leaves a path of the checkout out: the last line that has it decides. */
export function ignored(path, patterns) {
  const isIn = (pattern) => {
    const [, ending] = /^\*\*\/\*(\.\w+)$/.exec(pattern) ?? [];
    return ending === undefined ? path === pattern || path.startsWith(`${pattern}/`) : path.endsWith(ending);
  };
  const found = patterns.findLast((pattern) => pattern !== '' && isIn(pattern.replace(/^!/, '')));
  return found !== undefined && !found.startsWith('!');
}

class Stage {
  env = {};
  workdir = '/';
  user = 'root';
  constructor(folder) {
    this.folder = folder;
    mkdirSync(folder, { recursive: true });
  }

  /** Where a path of the image is on this machine. */
  at(path) {
    return join(this.folder, path.startsWith('/') ? path : join(this.workdir, path));
  }

  /** A command with its paths of the image: those that this machine does not have at its root. */
  localized(command) {
    return command.replace(/(?<=^|[\s"'=])\/([\w.-]+)(?=[/\s"']|$)/g, (path, first) =>
      existsSync(`/${first}`) ? path : join(this.folder, path),
    );
  }
}

class Build {
  stages = new Map();
  args = {};
  constructor(folder, { reuse, asUser }) {
    this.folder = folder;
    this.reuse = reuse;
    this.asUser = asUser;
    this.patterns = readFileSync(join(root, '.dockerignore'), 'utf8')
      .split('\n')
      .filter((line) => /^[^#]/.test(line));
  }

  all(instructions) {
    for (const [name, rest] of instructions) {
      const step = this[name.toLowerCase()];
      if (typeof step !== 'function') throw new Error(`${name} is not known here`);
      step.call(
        this,
        rest.replace(/\$\{(\w+)\}/g, (_all, variable) => this.args[variable] ?? ''),
      );
    }
    return this.stage;
  }

  arg(text) {
    const [name, value] = text.split('=');
    this.args[name] = value;
  }

  from(text) {
    const name = / AS (\w+)$/.exec(text)?.[1] ?? 'image';
    this.stage = new Stage(join(this.folder, name));
    this.stage.base = text.split(' ')[0];
    this.stages.set(name, this.stage);
    this.#give(this.stage.folder);
  }

  workdir(path) {
    this.stage.workdir = path;
    mkdirSync(this.stage.at(path), { recursive: true });
    this.#give(this.stage.at(path));
  }

  copy(text) {
    const words = text.split(/\s+/);
    const flags = words.filter((word) => word.startsWith('--'));
    const [target, ...sources] = words.filter((word) => !word.startsWith('--')).reverse();
    const from = flags.map((flag) => /^--from=(.+)$/.exec(flag)?.[1]).find((name) => name !== undefined);
    const owner = flags.map((flag) => /^--chown=(\d+):(\d+)$/.exec(flag)).find((found) => found !== null);
    for (const source of sources) {
      const path = from === undefined ? join(root, source) : this.stages.get(from).at(source);
      const isFolder = statSync(path).isDirectory();
      const to = isFolder || !target.endsWith('/') ? target : `${target}${basename(path)}`;
      // A folder is looked into where some line takes a part of it back.
      const isPartlyTaken = (one) => this.patterns.some((pattern) => pattern.startsWith(`!${one}/`));
      const isTaken = (one) => {
        const name = relative(root, one);
        return from !== undefined || !ignored(name, this.patterns) || isPartlyTaken(name);
      };
      const options = { recursive: true, preserveTimestamps: true, verbatimSymlinks: true };
      cpSync(path, this.stage.at(to), { ...options, filter: isTaken });
      this.#give(this.stage.at(to), owner?.slice(1).map(Number));
    }
  }

  env(text) {
    for (const [, name, value] of text.matchAll(/(\w+)=(\S+)/g)) this.stage.env[name] = value;
  }

  user(text) {
    this.stage.user = text;
  }

  healthcheck(text) {
    this.stage.healthcheck = JSON.parse(text.slice(text.indexOf('[')));
  }

  entrypoint(text) {
    this.stage.entrypoint = JSON.parse(text);
  }

  cmd(text) {
    this.stage.cmd = JSON.parse(text);
  }

  volume(path) {
    this.stage.volume = path;
  }

  expose() {}

  stopsignal() {}

  run(command) {
    const { stage } = this;
    const user = this.asUser && process.getuid?.() === 0 ? { uid: builder, gid: builder } : {};
    const { PATH } = process.env;
    const home = join(this.folder, 'home');
    mkdirSync(home, { recursive: true });
    this.#give(home);
    const env = { PATH, HOME: home, TMPDIR: home, npm_config_cache: join(home, 'npm'), ...stage.env };
    const options = { cwd: stage.at('.'), env, stdio: ['ignore', 2, 2], ...user };
    execFileSync('/bin/sh', ['-ec', stage.localized(command)], options);
  }

  #give(path, owner = this.asUser ? [builder, builder] : undefined) {
    if (owner === undefined || process.getuid?.() !== 0) return;
    chownSync(path, ...owner);
    if (!statSync(path).isDirectory()) return;
    for (const name of readdirSync(path, { recursive: true })) {
      const one = join(path, name);
      if (existsSync(one)) chownSync(one, ...owner);
    }
  }
}

/**
 * Runs the steps below a folder that is there and empty. Gives the last stage: its `folder`, and what the image says of
 * user, variables and commands.
 */
export function buildImage(folder, options = {}) {
  chmodSync(folder, 0o755);
  const build = new Build(folder, options);
  const all = instructionsOf(readFileSync(join(root, file), 'utf8'));
  const instructions = options.reuse ? all.map((one) => reusing(one)) : all;
  return build.all(instructions);
}

/** The step that takes what the checkout has already. */
function reusing([name, rest]) {
  const found = name === 'RUN' ? reused.find(([pattern]) => pattern.test(rest)) : undefined;
  return found === undefined ? [name, rest] : ['RUN', `ln -s '${join(root, found[1])}' ${found[1]}`];
}

/** Bytes of all files below a folder. */
export function bytesOf(folder) {
  let sum = 0;
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) sum += statSync(join(entry.parentPath ?? entry.path, entry.name)).size;
  }
  return sum;
}

if (process.argv[1]?.endsWith('dockerfile.mjs')) {
  const words = process.argv.slice(2);
  const reuse = words[0] === '--reuse';
  const folder = words.at(reuse ? 1 : 0);
  if (folder === undefined) throw new Error('usage: node tools/release/dockerfile.mjs [--reuse] FOLDER');
  mkdirSync(folder, { recursive: true });
  const stage = buildImage(folder, { reuse, asUser: !reuse });
  console.log(`${stage.folder}: ${(bytesOf(stage.folder) / 1e6).toFixed(1)} MB on top of ${stage.base}`);
}
