/** Content of the sections of a module. Bodies of functions are read no further than their variables. */
import { skipConstant } from './instructions.js';
import { checkLimit, type ModuleLimits } from './limits.js';
import type { ByteReader } from './reader.js';
import { type Section, SectionId, sectionReader, sectionsOf } from './sections.js';
import {
  type GlobalType,
  type Range,
  readGlobal,
  readMemory,
  readSignature,
  readTable,
  readValueType,
  type Signature,
  type TableType,
} from './types.js';

export type ImportType =
  | { readonly kind: 'function'; readonly type: number }
  | { readonly kind: 'table'; readonly table: TableType }
  | { readonly kind: 'memory'; readonly memory: Range }
  | { readonly kind: 'global'; readonly global: GlobalType };

export type RawImport = { readonly module: string; readonly name: string } & ImportType;

export type ExternalKind = ImportType['kind'];

export interface RawExport {
  readonly name: string;
  readonly kind: ExternalKind;
  readonly index: number;
}

/** A function that the module defines. */
export interface Body {
  /** Offsets of the function's variables, of its code and of its end, bytes. */
  readonly from: number;
  readonly code: number;
  readonly to: number;
  /** Number of variables of the function beside its parameters. */
  readonly locals: number;
}

export interface CustomSection {
  readonly name: string;
  readonly from: number;
  readonly to: number;
}

export interface WasmModule {
  readonly bytes: Uint8Array;
  readonly sections: readonly Section[];
  readonly types: readonly Signature[];
  readonly imports: readonly RawImport[];
  /** Types of all functions by index, imported ones first; tables, memories and globals likewise. */
  readonly functions: readonly number[];
  readonly tables: readonly TableType[];
  readonly memories: readonly Range[];
  readonly globals: readonly GlobalType[];
  readonly exports: readonly RawExport[];
  readonly start: number | undefined;
  readonly elements: number;
  readonly bodies: readonly Body[];
  readonly dataSegments: number;
  readonly dataBytes: number;
  readonly customSections: readonly CustomSection[];
}

const kinds: readonly ExternalKind[] = ['function', 'table', 'memory', 'global'];

/** Reads a module; what is malformed, not supported or more than `limits` is a `WasmError`. */
export function readModule(bytes: Uint8Array, limits: ModuleLimits): WasmModule {
  checkLimit(limits, 'moduleBytes', bytes.length);
  return new ModuleReader(bytes, limits).read();
}

type List = readonly [name: string, read: (reader: ByteReader) => unknown, limit?: keyof ModuleLimits];

class ModuleReader {
  #types: Signature[] = [];
  #imports: RawImport[] = [];
  #functions: number[] = [];
  #tables: TableType[] = [];
  #memories: Range[] = [];
  #globals: GlobalType[] = [];
  #exports: RawExport[] = [];
  #start: number | undefined;
  #elements = 0;
  #bodies: Body[] = [];
  #dataSegments = 0;
  #dataBytes = 0;
  #customSections: CustomSection[] = [];
  #importedFunctions = 0;

  /** Name, reader and limit of the entries of each section; no limit where their number is not known before. */
  readonly #lists: Readonly<Record<number, List>> = {
    [SectionId.type]: ['types', (reader) => this.#types.push(this.#signature(reader)), 'types'],
    [SectionId.import]: ['imports', (reader) => this.#import(reader), 'imports'],
    [SectionId.function]: ['functions', (reader) => this.#functions.push(this.#typeIndex(reader)), 'functions'],
    [SectionId.table]: ['tables', (reader) => this.#table(readTable(reader))],
    [SectionId.memory]: ['memories', (reader) => this.#memory(readMemory(reader), reader)],
    [SectionId.global]: ['globals', (reader) => this.#definedGlobal(reader)],
    [SectionId.export]: ['exports', (reader) => this.#export(reader), 'exports'],
    [SectionId.element]: ['element segments', (reader) => this.#element(reader)],
    [SectionId.code]: ['functions', (reader) => this.#body(reader), 'functions'],
    [SectionId.data]: ['data segments', (reader) => this.#data(reader), 'dataSegments'],
  };

  constructor(
    private readonly bytes: Uint8Array,
    private readonly limits: ModuleLimits,
  ) {}

  read(): WasmModule {
    const sections = sectionsOf(this.bytes);
    for (const section of sections) {
      const reader = sectionReader(this.bytes, section);
      this.#section(section.id, reader);
      reader.done();
    }
    const defined = this.#functions.length - this.#importedFunctions;
    if (defined !== this.#bodies.length) {
      const reader = sectionReader(this.bytes, { id: SectionId.code, from: this.bytes.length, to: this.bytes.length });
      reader.fail(`it has ${this.#bodies.length} functions, ${defined} are declared`);
    }
    return {
      bytes: this.bytes,
      sections,
      types: this.#types,
      imports: this.#imports,
      functions: this.#functions,
      tables: this.#tables,
      memories: this.#memories,
      globals: this.#globals,
      exports: this.#exports,
      start: this.#start,
      elements: this.#elements,
      bodies: this.#bodies,
      dataSegments: this.#dataSegments,
      dataBytes: this.#dataBytes,
      customSections: this.#customSections,
    };
  }

  #section(id: number, reader: ByteReader): void {
    if (id === SectionId.custom) this.#custom(reader);
    else if (id === SectionId.start) this.#start = this.#index(reader, 'function', this.#functions.length);
    else if (id === SectionId.dataCount) reader.u32();
    else this.#list(id, reader);
  }

  /** Reads a section of entries: how many, then each. */
  #list(id: number, reader: ByteReader): void {
    const [name, read, limit] = this.#lists[id] ?? reader.fail('it is not known');
    const count = reader.count(name);
    if (limit !== undefined) checkLimit(this.limits, limit, count);
    for (let i = 0; i < count; i++) read(reader);
  }

  #custom(reader: ByteReader): void {
    const name = this.#name(reader, 'the name of a custom section');
    this.#customSections.push({ name, from: reader.at, to: reader.end });
    checkLimit(this.limits, 'customSections', this.#customSections.length);
    reader.skip(reader.left);
  }

  #signature(reader: ByteReader): Signature {
    const signature = readSignature(reader);
    const owner = `type ${this.#types.length}`;
    checkLimit(this.limits, 'params', Math.max(signature.params.length, signature.results.length), owner);
    return signature;
  }

  #import(reader: ByteReader): void {
    const module = this.#name(reader, 'the module of an import');
    const name = this.#name(reader, 'the name of an import');
    const type = this.#importType(reader);
    this.#imports.push({ module, name, ...type });
  }

  #importType(reader: ByteReader): ImportType {
    const kind = this.#kind(reader);
    switch (kind) {
      case 'function': {
        const type = this.#typeIndex(reader);
        this.#functions.push(type);
        this.#importedFunctions++;
        return { kind, type };
      }
      case 'table': {
        const table = readTable(reader);
        this.#table(table);
        return { kind, table };
      }
      case 'memory': {
        const memory = readMemory(reader);
        this.#memory(memory, reader);
        return { kind, memory };
      }
      case 'global': {
        const global = readGlobal(reader);
        this.#global(global);
        return { kind, global };
      }
    }
  }

  #table(table: TableType): void {
    checkLimit(this.limits, 'tableEntries', table.min, `table ${this.#tables.length}`);
    this.#tables.push(table);
    checkLimit(this.limits, 'tables', this.#tables.length);
  }

  #memory(memory: Range, reader: ByteReader): void {
    if (this.#memories.length > 0) reader.fail('there are several memories, only one is supported');
    checkLimit(this.limits, 'memoryPages', memory.min, 'the memory at the start');
    this.#memories.push(memory);
  }

  #global(global: GlobalType): void {
    this.#globals.push(global);
    checkLimit(this.limits, 'globals', this.#globals.length);
  }

  #definedGlobal(reader: ByteReader): void {
    this.#global(readGlobal(reader));
    skipConstant(reader);
  }

  #export(reader: ByteReader): void {
    const name = this.#name(reader, 'the name of an export');
    const kind = this.#kind(reader);
    const all = { function: this.#functions, table: this.#tables, memory: this.#memories, global: this.#globals };
    this.#exports.push({ name, kind, index: this.#index(reader, kind, all[kind].length) });
  }

  /**
   * Eight forms, told apart by three bits: passive or declared, a table or how it is meant, expressions for entries.
   */
  #element(reader: ByteReader): void {
    const from = reader.at;
    const flags = reader.u32();
    if (flags > 7) reader.fail(`an element segment has unknown flags ${flags}`, from);
    const isActive = (flags & 1) === 0;
    const names = (flags & 2) !== 0;
    const expressions = (flags & 4) !== 0;
    if (isActive) {
      if (names) this.#index(reader, 'table', this.#tables.length);
      skipConstant(reader);
    }
    if (flags & 3) {
      if (expressions) readValueType(reader);
      else reader.byte();
    }
    const count = reader.count('entries');
    this.#elements += count;
    checkLimit(this.limits, 'elements', this.#elements);
    for (let i = 0; i < count; i++) {
      if (expressions) skipConstant(reader);
      else this.#index(reader, 'function', this.#functions.length);
    }
  }

  #body(reader: ByteReader): void {
    const index = this.#importedFunctions + this.#bodies.length;
    const size = reader.u32();
    checkLimit(this.limits, 'functionBytes', size, `function ${index}`);
    const body = reader.part(size, `function ${index}`);
    const from = body.at;
    let locals = 0;
    for (let groups = body.count('groups of variables', 2); groups > 0; groups--) {
      locals += body.u32();
      readValueType(body);
    }
    const type = this.#types[this.#functions[index] ?? -1];
    checkLimit(this.limits, 'locals', locals + (type?.params.length ?? 0), `function ${index}`);
    this.#bodies.push({ from, code: body.at, to: body.end, locals });
  }

  #data(reader: ByteReader): void {
    const from = reader.at;
    const flags = reader.u32();
    if (flags > 2) reader.fail(`a data segment has unknown flags ${flags}`, from);
    if (flags === 2) this.#index(reader, 'memory', this.#memories.length);
    if (flags !== 1) skipConstant(reader);
    const size = reader.count('bytes of data');
    reader.skip(size);
    this.#dataSegments++;
    this.#dataBytes += size;
    checkLimit(this.limits, 'dataBytes', this.#dataBytes);
  }

  #kind(reader: ByteReader): ExternalKind {
    const from = reader.at;
    const byte = reader.byte();
    return (
      kinds[byte] ??
      reader.fail(byte === 4 ? 'tags (exception handling) are not supported' : `there is no kind ${byte}`, from)
    );
  }

  #typeIndex(reader: ByteReader): number {
    return this.#index(reader, 'type', this.#types.length);
  }

  #index(reader: ByteReader, what: string, count: number): number {
    const from = reader.at;
    const index = reader.u32();
    if (index >= count) reader.fail(`there is no ${what} ${index}, there are ${count}`, from);
    return index;
  }

  #name(reader: ByteReader, what: string): string {
    const name = reader.name(what);
    if (name.length > this.limits.nameBytes) {
      reader.fail(`${what} has ${name.length} characters, at most ${this.limits.nameBytes} are allowed (nameBytes)`);
    }
    return name;
  }
}
