/** Portable plugins for tests: programs on the published SDK for Python, in archives. */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { announceSkip } from '../harness.js';
import { fileUri } from '../rest/given-files.js';
import { writeZip, type ZipItem } from '../rest/zip-writer.js';

/** Folder that `pip install --target` has filled; see .ci/run. */
const sdkFolder = join(homedir(), '.cache/haumea-sdk');

/** Environment of servers whose plugins find the SDK. */
export const sdkEnv = { PYTHONPATH: sdkFolder };

/** Tells, and says so, that the SDK is not installed here; in CI that is a failure. */
export function lacksSdk(name: string): boolean {
  if (existsSync(join(sdkFolder, 'ekuiper')) && existsSync(join(sdkFolder, 'pynng'))) return false;
  const reason = `the SDK is missing: pip3 install --target ${sdkFolder} ekuiper`;
  if (process.env.CI !== undefined) throw new Error(reason);
  announceSkip(name, reason);
  return true;
}

/** A name that no other test of this machine has: sockets of plugins have names of the machine. */
export function freshName(begin: string): string {
  return `${begin}${randomBytes(4).toString('hex')}`;
}

export interface PythonPlugin {
  /** Text of the program. */
  readonly program: string;
  readonly sources?: readonly string[];
  readonly sinks?: readonly string[];
  readonly functions?: readonly string[];
  readonly aggregates?: readonly string[];
  readonly version?: string;
  readonly files?: readonly ZipItem[];
}

/** URI of the archive of a plugin in Python. */
export function pythonPlugin(name: string, { program, files = [], version = 'v1', ...brings }: PythonPlugin): string {
  const described = { version, language: 'python', executable: 'main.py', sources: [], sinks: [], functions: [] };
  return fileUri(
    `${name}.zip`,
    writeZip([
      { name: `${name}.json`, content: JSON.stringify({ ...described, ...brings }) },
      { name: 'main.py', content: program },
      ...files,
    ]),
  );
}

/** Begin of programs. */
export const pythonHead = `import os, sys, time, json, threading
from ekuiper import plugin, PluginConfig, Function, Source, Sink
`;

/** A function of Python: `body` is indented by eight and gets args and ctx. */
export function pythonFunction(type: string, body: string, isAggregate = false): string {
  return `
class ${type}(Function):
    def validate(self, args): return ""
    def is_aggregate(self): return ${isAggregate ? 'True' : 'False'}
    def exec(self, args, ctx):
        ${body}
`;
}
