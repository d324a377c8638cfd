/**
 * Portable plugins: programs in archives with a description of what they bring. Their processes run in a data plane,
 * which starts them when the first rule needs them.
 */
import { totalmem } from 'node:os';
import { join } from 'node:path';
import type { Config } from '../../base/config/config.js';
import { inContext } from '../../base/errors.js';
import { allConnectors } from '../../connectors/index.js';
import type { UserFunction } from '../../plugins/define.js';
import { newUserNumber } from '../../plugins/numbers.js';
import { type PortableCode, type PortableUse, portableNoun } from '../../plugins/portable/code.js';
import { installErrors } from '../errors/installed.js';
import type { ResourceFiles } from '../files/resource-files.js';
import { type InstalledOptions, InstalledService } from './installed.js';
import type { KeysOfPlugin, PortableDescription, PortableRecord } from './portable-record.js';

/** An installation waits so long for the program to connect, ms; a slower one is asked in the background. */
const installWaitMs = 5000;

/** Pauses between two looks whether a program runs that has not told its aggregates, ms: longer when it does not. */
const lookMs = 1000;
const longestLookMs = 60_000;

/** Status of the process of a plugin. */
export type PortableStatus = Omit<PortableUse, 'name'>;

/** Configuration keys that a plugin brings. */
interface ConnectorKeys {
  readonly sources: KeysOfPlugin;
  readonly sinks: KeysOfPlugin;
}

/** What runs the plugins. */
export interface PortableHost {
  states(): Promise<readonly PortableUse[]>;
  /** Names of the functions that take groups; rejects with the reason when the plugin does not tell. */
  aggregatesOf(code: PortableCode): Promise<readonly string[]>;
  /** The plugin has a new program, or none; its functions are those given. */
  changed(
    name: string,
    code: PortableCode | null,
    keys: ConnectorKeys,
    functions: readonly UserFunction[] | null,
  ): Promise<void>;
  /** Plans running rules anew that use the plugin, and lets them go on. */
  replanned(rules: readonly string[]): Promise<void>;
  /** A plugin could not be asked. */
  warn(line: string): void;
}

export interface PortableSettings extends Pick<Config, 'portable'> {
  /** Scripts of archives are run. */
  readonly allowsScripts: boolean;
}

export class PortablePlugins extends InstalledService<PortableRecord> {
  readonly #files: ResourceFiles;
  readonly #host: PortableHost;
  readonly #settings: PortableSettings;
  readonly #codes = new Map<string, { readonly folder: string; readonly code: PortableCode }>();
  readonly #numbers = new Map<string, number>();
  #versions = 0;

  constructor(
    options: Omit<InstalledOptions<PortableRecord>, 'noun'>,
    files: ResourceFiles,
    host: PortableHost,
    settings: PortableSettings,
  ) {
    super({ ...options, noun: portableNoun });
    this.#files = files;
    this.#host = host;
    this.#settings = settings;
  }

  /** The status of the process with the plugin's own description. */
  describe(name: string): Promise<{ name: string } & PortableDescription & PortableStatus> {
    return inContext(`describe ${this.kind} error`, async () => {
      const { version, language, executable, sources, sinks, functions } = this.get(name);
      return { name, version, language, executable, sources, sinks, functions, ...(await this.#state(name)) };
    });
  }

  status(name: string): Promise<PortableStatus> {
    return inContext(`get status of ${this.kind} error`, async () => {
      this.get(name);
      return this.#state(name);
    });
  }

  /** A function as rules call it. */
  runnable(name: string, func: string): UserFunction | undefined {
    const record = this.get(name);
    if (!record.functions.includes(func)) return undefined;
    const isAggregate = record.aggregates?.includes(func) === true;
    const owner = `${this.kind} ${name}`;
    // Running rules go on calling by number: a number is kept only while the kind of call stays the same.
    const key = `${owner} ${func} ${isAggregate}`;
    const number = this.#numbers.get(key) ?? newUserNumber(func);
    this.#numbers.set(key, number);
    const code = this.#codeOf(name, record);
    return { name: func, owner, number, code, entry: func, isAggregate, args: { min: 0, max: null } };
  }

  /** All plugins, as data planes run them, with the keys of their sources and sinks. */
  all(): { code: PortableCode; keys: ConnectorKeys }[] {
    return this.records.list().map(([name, record]) => {
      const code = this.#codeOf(name, record);
      return { code, keys: keysOf(code, record) };
    });
  }

  async #state(name: string): Promise<PortableStatus> {
    const found = (await this.#host.states()).find((one) => one.name === name);
    if (found === undefined) return { refCount: {}, status: 'stop', errMsg: '', restarts: 0 };
    const { name: _name, ...state } = found;
    return state;
  }

  protected override async read(name: string, body: Readonly<Record<string, unknown>>): Promise<PortableRecord> {
    const { readPortable } = await import('./portable-archive.js');
    return readPortable(name, body, {
      files: this.#files,
      folders: this.folders,
      allowsScripts: this.#settings.allowsScripts,
      check: (described) => this.#checkConnectors(name, described),
      warn: (line) => this.#host.warn(`${this.kind} ${name}: ${line}`),
    });
  }

  protected override functionsOf(_name: string, { functions }: PortableRecord): readonly string[] {
    return functions;
  }

  protected override requestOf(name: string, { file, shellParas }: PortableRecord): Record<string, unknown> {
    return { name, file, shellParas };
  }

  /** Rules that run go on with the new program, and fail without one. */
  protected override async changed(name: string): Promise<void> {
    const record = this.records.get(name);
    if (record === undefined) {
      this.#codes.delete(name);
      await this.#host.changed(name, null, { sources: {}, sinks: {} }, null);
      return;
    }
    const code = this.#codeOf(name, record);
    if (isTold(record)) {
      await this.#publish(name, code, record);
      return;
    }
    const answer = this.#aggregatesOf(name, code);
    const isAnswered = await endsWithin(installWaitMs, answer);
    const aggregates = isAnswered ? await answer : undefined;
    if (aggregates !== undefined) await this.records.put(name, { ...record, aggregates });
    await this.#publish(name, code, record);
    if (aggregates !== undefined) return;
    if (!isAnswered) {
      this.#host.warn(`${this.kind} ${name} is installed, but has not connected within ${installWaitMs} ms`);
    }
    void this.#noteLate(name, code, record, answer);
  }

  /** Asks plugins that have never told which of their functions are aggregates, as soon as rules have started them. */
  askLate(): void {
    for (const [name, record] of this.records.list()) {
      if (!isTold(record)) void this.#noteLate(name, this.#codeOf(name, record), record, Promise.resolve(undefined));
    }
  }

  /**
   * Takes the answer of a program that connects after its installation, whenever that is. Rules that call one of its
   * aggregates are planned anew.
   */
  async #noteLate(
    name: string,
    code: PortableCode,
    record: PortableRecord,
    first: Promise<readonly string[] | undefined>,
  ): Promise<void> {
    const isCurrent = () => this.#codes.get(name)?.code === code;
    try {
      let aggregates = await first;
      for (let pause = lookMs; aggregates === undefined && isCurrent(); ) {
        await new Promise((resolve) => setTimeout(resolve, pause).unref());
        // Nobody but a rule starts it: it may need what is not there yet.
        if (!isCurrent() || (await this.#state(name)).status !== 'running') continue;
        aggregates = await this.#aggregatesOf(name, code);
        pause = Math.min(2 * pause, longestLookMs);
      }
      if (aggregates === undefined || !isCurrent()) return;
      await this.records.put(name, { ...record, aggregates });
      if (aggregates.length === 0) return;
      await this.#publish(name, code, record);
      await this.#host.replanned(Object.keys((await this.#state(name)).refCount));
    } catch (error) {
      this.#host.warn(`${this.kind} ${name}: its aggregates are not known: ${(error as Error).message}`);
    }
  }

  /** Tells rules and planners of the program and its functions. */
  async #publish(name: string, code: PortableCode, record: PortableRecord): Promise<void> {
    const functions = record.functions.flatMap((func) => this.runnable(name, func) ?? []);
    await this.#host.changed(name, code, keysOf(code, record), functions);
  }

  /** The planner has to know which functions take groups; a plugin that can't be asked has none, and its status why. */
  async #aggregatesOf(name: string, code: PortableCode): Promise<readonly string[] | undefined> {
    try {
      return await this.#host.aggregatesOf(code);
    } catch (error) {
      this.#host.warn(`${this.kind} ${name} is installed, but can't be asked: ${(error as Error).message}`);
      return undefined;
    }
  }

  #codeOf(name: string, record: PortableRecord): PortableCode {
    const known = this.#codes.get(name);
    if (known?.folder === record.folder) return known.code;
    const { language, executable, sources, sinks, functions, env = '' } = record;
    const { portable } = this.#settings;
    const folder = this.folders.path(record.folder);
    const code: PortableCode = {
      kind: 'portable',
      name,
      version: ++this.#versions,
      language: language === 'go' ? 'go' : 'python',
      executable: join(folder, executable),
      folder,
      condaEnv: env,
      sources: sources.filter(isFree),
      sinks: sinks.filter(isFree),
      functions,
      limits: {
        pythonBin: portable.pythonBin,
        initMs: portable.initTimeout,
        sendMs: portable.sendTimeout,
        recvMs: portable.recvTimeout,
        memoryBytes: portable.maxMemoryBytes === 0 ? Math.floor(totalmem() / 2) : portable.maxMemoryBytes,
        callRetries: portable.callRetries,
        callsAtOnce: portable.callsAtOnce,
      },
    };
    this.#codes.set(name, { folder: record.folder, code });
    return code;
  }

  #checkConnectors(name: string, described: PortableDescription): void {
    for (const [other, record] of this.records.list()) {
      if (other === name) continue;
      for (const part of ['sources', 'sinks'] as const) {
        const taken = described[part].find((one) => record[part].includes(one));
        if (taken !== undefined) {
          throw installErrors.nameTaken(part.slice(0, -1), taken, this.kind, other);
        }
      }
    }
  }
}

/** It is known which of its functions are aggregates. */
function isTold({ functions, aggregates }: PortableRecord): boolean {
  return functions.length === 0 || aggregates !== undefined;
}

/** Keys of those connectors that are the plugin's. */
function keysOf({ sources, sinks }: PortableCode, { keys = {}, sinkKeys = {} }: PortableRecord): ConnectorKeys {
  const own = (given: KeysOfPlugin, names: readonly string[]) =>
    Object.fromEntries(Object.entries(given).filter(([name]) => names.includes(name)));
  return { sources: own(keys, sources), sinks: own(sinkKeys, sinks) };
}

/** The engine's own connectors go before those of plugins, as in the recorded engine. */
function isFree(name: string): boolean {
  return allConnectors().every((connector) => connector.name !== name);
}

async function endsWithin(ms: number, work: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, ms, false);
  });
  const ended = work.then(() => true);
  return Promise.race([ended, late]).finally(() => clearTimeout(timer));
}
