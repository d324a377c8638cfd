/**
 * Imports for guests of Extism's development kits. The functions that they call for each byte are WebAssembly
 * (adapters/kit-memory.ts); those here are called seldom.
 */
import type { CodeHost, WasmCode } from '../../define.js';
import { type KitMemory, kitFunctions, kitMemoryModule } from '../adapters/kit-memory.js';
import { type Signature, signatureOf } from '../binary/types.js';
import { type Fuel, fuelOfCall, spend } from './fuel.js';
import { KitVariables, tooManyVariables } from './kit-variables.js';

/** Most pages of the kit's memory, as many as a guest may have. */
const maxPages = 1024;
const maxLineBytes = 4096;
/** The kit leaves out what is below: `info`. */
const logLevel = 2;

/** Signatures of the functions that guests may import. */
export const kitSignatures: ReadonlyMap<string, Signature> = new Map([
  ...kitFunctions,
  ['config_get', signatureOf('l', 'l')],
  ['var_get', signatureOf('l', 'l')],
  ['var_set', signatureOf('ll')],
  ['http_request', signatureOf('ll', 'l')],
  ['http_status_code', signatureOf('', 'i')],
  ['http_headers', signatureOf('', 'l')],
  ['get_log_level', signatureOf('', 'i')],
  ...['log_trace', 'log_debug', 'log_info', 'log_warn', 'log_error'].map((name) => [name, signatureOf('l')] as const),
]);

export class Kit {
  readonly io: KitMemory;
  readonly imports: Record<string, unknown>;
  /** Those of the instance, which it has where no state takes their place. */
  readonly #own = new KitVariables();

  constructor(
    private readonly code: WasmCode,
    private readonly host: CodeHost,
    /** Fuel left for the current call. */
    private readonly fuel: () => Fuel,
    /** Variables of the group that is called for, and the number of the call. */
    private readonly given: () => { readonly variables: KitVariables | undefined; readonly call: number },
  ) {
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(kitMemoryModule(maxPages)));
    this.io = exports as unknown as KitMemory;
    const log = (level: string) => (at: bigint) => {
      spend(this.fuel(), fuelOfCall);
      const text = this.#text(at, maxLineBytes);
      spend(this.fuel(), text.length);
      this.host.log(level === 'info' ? text : `${level}: ${text}`);
    };
    const refuse = () => {
      throw new Error('HTTP requests are not given to plugins');
    };
    this.imports = {
      ...Object.fromEntries([...kitFunctions.keys()].map((name) => [name, exports[name]])),
      config_get: () => 0n,
      var_get: (name: bigint) => this.#variable(name),
      var_set: (name: bigint, value: bigint) => this.#setVariable(name, value),
      http_request: refuse,
      http_status_code: () => 0,
      http_headers: () => 0n,
      get_log_level: () => logLevel,
      log_trace: log('trace'),
      log_debug: log('debug'),
      log_info: log('info'),
      log_warn: log('warn'),
      log_error: log('error'),
    };
  }

  get memory(): WebAssembly.Memory {
    return this.io.memory;
  }

  /** Text of the error that the guest has set for the call under way, if it has. */
  errorText(at: bigint): string {
    if (at === 0n) return '';
    try {
      return this.#text(at, maxLineBytes);
    } catch {
      return 'it failed with a message that lies outside of the memory';
    }
  }

  #bytes(at: bigint): Buffer {
    const off = Number(at);
    const length = Number(this.io.length(at));
    const { buffer } = this.memory;
    if (off + length > buffer.byteLength || length < 0) throw new Error('a block lies outside of the memory');
    return Buffer.from(buffer, off, length);
  }

  #text(at: bigint, most: number): string {
    const bytes = this.#bytes(at);
    return bytes.toString('utf8', 0, Math.min(bytes.length, most));
  }

  #variable(name: bigint): bigint {
    spend(this.fuel(), fuelOfCall);
    const value = (this.given().variables ?? this.#own).get(this.#text(name, maxLineBytes));
    if (value === undefined) return 0n;
    spend(this.fuel(), value.length);
    const at = this.io.alloc(BigInt(value.length));
    if (at !== 0n) Buffer.from(this.memory.buffer).set(value, Number(at));
    return at;
  }

  /** Sets a variable; without a value the variable is deleted. */
  #setVariable(at: bigint, valueAt: bigint): void {
    spend(this.fuel(), fuelOfCall);
    const { variables = this.#own, call } = this.given();
    const name = this.#text(at, maxLineBytes);
    const value = valueAt === 0n ? undefined : new Uint8Array(this.#bytes(valueAt));
    spend(this.fuel(), value?.length ?? 0);
    if (!variables.set(name, value, call)) throw new Error(tooManyVariables(this.code.name));
  }
}
