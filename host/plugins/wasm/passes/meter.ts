/**
 * Writes fuel into a module: the number of instructions that it may still run. Without fuel it ends with a trap,
 * wherever it is. Memory and tables get a maximum.
 */
import { Code } from '../binary/code.js';
import { WasmError } from '../binary/error.js';
import { defaultLimits, type ModuleLimits } from '../binary/limits.js';
import { readModule, type WasmModule } from '../binary/module.js';
import { Op } from '../binary/opcodes.js';
import type { ByteReader } from '../binary/reader.js';
import { headBytes, type Section, SectionId, sectionOrder, sectionReader } from '../binary/sections.js';
import { maxPages, type Range, type Signature, type ValueType, valueTypeByte } from '../binary/types.js';
import { ByteWriter } from '../binary/writer.js';
import { costsOf } from './cost.js';
import { meterFunction, type Place } from './meter-function.js';
import type { Pass } from './pass.js';

/** Prefix of the names that metering exports; modules of users may not export such names. */
export const reserved = 'haumea:';
/**
 * The global with the fuel, a mutable i64. The host sets it before it calls an export. When a call traps and it is
 * below zero, the fuel was used up.
 */
export const fuelExport = `${reserved}fuel`;
/**
 * A table with one entry: a function that is called when there is no fuel left. It puts some into the global, at least
 * as much as was asked for, or throws. While the table is empty the call traps.
 */
export const refuelExport = `${reserved}more`;
/** The start function, where there is one: the host calls it with fuel, before anything else. */
export const startExport = `${reserved}start`;

export const meterModule: Pass = {
  name: 'meter',
  does: 'counts instructions as fuel, and bounds memory and tables',
  stage: 'install',
  needs: [],
  run: (on) => ({ ...on, bytes: meter(on.bytes, on.limits) }),
};

const { validate } = WebAssembly as unknown as { validate(bytes: Uint8Array): boolean };

/** The custom section that is kept: others name places in the code, which move. */
const keptCustom = 'name';

/**
 * Returns the module with fuel, for the same module always the same bytes. An instruction costs 1, `nop` and the ends
 * of blocks nothing, calls, divisions and the like more (`cost.ts`), operations on memory and tables by their length
 * besides; of several ways the longest counts, each time a function is entered or a loop begins again. Short functions
 * that can't go on for long are charged for by their callers: called by the host they cost nothing.
 *
 * Throws a `WasmError` when the module is invalid, not supported, or exceeds `limits`.
 * @param firstPages of a memory that it imports, at least; as the module says without it
 */
export function meter(
  bytes: Uint8Array,
  limits: ModuleLimits = defaultLimits,
  firstPages?: number,
): Uint8Array<ArrayBuffer> {
  const module = readModule(bytes, limits);
  checkValid(bytes);
  const taken = module.exports.find(({ name }) => name.startsWith(reserved));
  if (taken !== undefined) {
    throw new WasmError(
      `the module exports ${JSON.stringify(taken.name)}: names that begin with ${reserved} are reserved`,
    );
  }
  return new Metering(module, limits, firstPages).write();
}

/** Code that is not valid could name things that only exist in the metered module. */
function checkValid(bytes: Uint8Array): void {
  if (validate(bytes)) return;
  try {
    new WebAssembly.Module(bytes as Uint8Array<ArrayBuffer>);
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace(/^WebAssembly\.Module\(\): /, '') : String(error);
    throw new WasmError(`the module is not valid: ${reason}`);
  }
  throw new WasmError('the module is not valid');
}

class Metering {
  readonly #fuel: number;
  /** Indexes of the table and the function that ask for more. */
  readonly #table: number;
  readonly #refuel: number;
  readonly #pages: number;
  /** Types that the module did not have. */
  readonly #added: Signature[] = [];

  constructor(
    private readonly module: WasmModule,
    private readonly limits: ModuleLimits,
    private readonly firstPages: number | undefined,
  ) {
    this.#fuel = module.globals.length;
    this.#table = module.tables.length;
    this.#refuel = module.functions.length;
    this.#pages = Math.min(limits.memoryPages, maxPages);
  }

  write(): Uint8Array<ArrayBuffer> {
    const { bytes, sections } = this.module;
    // Bodies first: they ask for types, which stand before them.
    const bodies = [...this.#bodies(), this.#asking()];
    const out = new ByteWriter().raw(bytes.subarray(0, headBytes));
    for (const id of sectionOrder) {
      const section = sections.find((one) => one.id === id);
      this.#section(out, id, section, bodies);
    }
    for (const { name, from, to } of this.module.customSections) {
      if (name !== keptCustom) continue;
      out.section(SectionId.custom, (body) => body.name(name).raw(bytes.subarray(from, to)));
    }
    return out.take();
  }

  #section(out: ByteWriter, id: number, section: Section | undefined, bodies: readonly Uint8Array[]): void {
    const write = this.#rewritten(id, section, bodies);
    if (write !== undefined) out.section(id, write);
    else if (section !== undefined && id !== SectionId.start) {
      out.section(id, (body) => body.raw(this.module.bytes.subarray(section.from, section.to)));
    }
  }

  /** The function that writes a section anew; undefined: it stays as it is. */
  #rewritten(id: number, section: Section | undefined, bodies: readonly Uint8Array[]) {
    switch (id) {
      case SectionId.type:
        return this.#added.length === 0 ? undefined : this.#types(section);
      case SectionId.import:
        return section && ((body: ByteWriter) => this.#imports(body));
      case SectionId.table:
        return (body: ByteWriter) => this.#tables(body);
      case SectionId.function:
        return this.#extended(section, 1, (body) => body.u32(this.#typeOf(nothing)));
      case SectionId.memory:
        return section && ((body: ByteWriter) => this.#memories(body));
      case SectionId.global:
        return this.#extended(section, 1, (body) => {
          body.byte(valueTypeByte.i64, 1).raw(new Code().i64(0).op(Op.end).view());
        });
      case SectionId.export:
        return this.#exports(section);
      case SectionId.code:
        return (body: ByteWriter) => {
          body.u32(bodies.length);
          for (const one of bodies) body.sized(one);
        };
      default:
        return undefined;
    }
  }

  #bodies(): Uint8Array[] {
    const imported = this.module.functions.length - this.module.bodies.length;
    const costs = costsOf(this.module);
    const isUncharged = (index: number) => costs[index - imported]?.byCallers !== undefined;
    return costs.map((cost, i) => {
      const { from, to } = this.module.bodies[i] as WasmModule['bodies'][number];
      if (cost.byCallers !== undefined) return this.module.bytes.subarray(from, to);
      const signature = this.module.types[this.module.functions[imported + i] as number] as Signature;
      const place: Place = {
        fuel: this.#fuel,
        refuel: this.#refuel,
        params: signature.params.length,
        isUncharged,
        resultType: () => this.#resultType(signature.results),
        limits: this.limits,
      };
      return meterFunction(this.module, i, cost, place);
    });
  }

  /** Writes the type of a block with these results. */
  #resultType(results: readonly ValueType[]): Uint8Array {
    const [only] = results;
    if (only === undefined) return Uint8Array.of(0x40);
    if (results.length === 1) return Uint8Array.of(valueTypeByte[only]);
    return new ByteWriter().signed(this.#typeOf({ params: [], results })).take();
  }

  /** Number of a type without parameters, which is added where the module has none. */
  #typeOf(wanted: Signature): number {
    const all = [...this.module.types, ...this.#added];
    const found = all.findIndex((type) => type.params.length === 0 && String(type.results) === String(wanted.results));
    if (found < 0) this.#added.push(wanted);
    return found < 0 ? all.length : found;
  }

  /** The function that asks for more: an import would move the numbers of all functions. */
  #asking(): Uint8Array {
    return new Code().i32(0).at(Op.callIndirect, this.#typeOf(nothing)).u32(this.#table).body([]);
  }

  #types(section: Section | undefined) {
    return this.#extended(section, this.#added.length, (body) => {
      const types = (list: readonly ValueType[]) => Uint8Array.from(list, (type) => valueTypeByte[type]);
      for (const { params, results } of this.#added) body.byte(0x60).sized(types(params)).sized(types(results));
    });
  }

  #exports(section: Section | undefined) {
    const { start } = this.module;
    return this.#extended(section, start === undefined ? 2 : 3, (body) => {
      body.name(fuelExport).byte(3).u32(this.#fuel);
      body.name(refuelExport).byte(1).u32(this.#table);
      if (start !== undefined) body.name(startExport).byte(0).u32(start);
    });
  }

  /** A section with `count` entries more than it had. */
  #extended(section: Section | undefined, count: number, write: (body: ByteWriter) => void) {
    return (body: ByteWriter): void => {
      const reader = section && sectionReader(this.module.bytes, section);
      body.u32((reader?.u32() ?? 0) + count);
      if (reader !== undefined) body.raw(restOf(reader));
      write(body);
    };
  }

  #imports(body: ByteWriter): void {
    body.u32(this.module.imports.length);
    for (const one of this.module.imports) {
      body.name(one.module).name(one.name);
      switch (one.kind) {
        case 'function':
          body.byte(0).u32(one.type);
          break;
        case 'table':
          this.#range(body.byte(1, valueTypeByte[one.table.of]), one.table, this.limits.tableEntries);
          break;
        case 'memory':
          this.#range(body.byte(2), { ...one.memory, min: this.firstPages ?? one.memory.min }, this.#pages);
          break;
        case 'global':
          body.byte(3, valueTypeByte[one.global.type], one.global.isMutable ? 1 : 0);
      }
    }
  }

  #tables(body: ByteWriter): void {
    const own = this.module.tables.slice(this.#importedCount('table'));
    body.u32(own.length + 1);
    for (const table of own) this.#range(body.byte(valueTypeByte[table.of]), table, this.limits.tableEntries);
    this.#range(body.byte(valueTypeByte.funcref), { min: 1 }, 1);
  }

  #memories(body: ByteWriter): void {
    const own = this.module.memories.slice(this.#importedCount('memory'));
    body.u32(own.length);
    for (const memory of own) this.#range(body, memory, this.#pages);
  }

  #importedCount(kind: string): number {
    return this.module.imports.filter((one) => one.kind === kind).length;
  }

  #range(body: ByteWriter, { min, max = most }: Range, limit: number): void {
    body.byte(1).u32(min).u32(Math.min(max, limit));
  }
}

const most = 0xffff_ffff;
const nothing: Signature = { params: [], results: [] };

function restOf(reader: ByteReader): Uint8Array {
  return reader.bytes.subarray(reader.at, reader.end);
}
