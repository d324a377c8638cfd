/** The test build of the program interpreter, with a batch to put values into. */
import type { HostColumns } from '../../../kernels/api.js';
import { hostCallImport } from '../../../kernels/calls/host-call.js';
import { column, Tag } from '../../../kernels/gen/layouts.js';
import type { Operand, Program } from '../../../kernels/plan/ir.js';
import { encodeProgram } from '../../../kernels/plan/program.js';
import { type Value, ValueAccess } from '../../../kernels/values/value.js';
import { testModule } from './test-module.js';

interface Exports {
  memory: WebAssembly.Memory;
  alloc(size: number, acct: number): number;
  bytesInUse(): bigint;
  hostScratch(size: number, isCounted: boolean): number;
  setValueLimit(bytes: number): void;
  contextInit(): void;
  scratchReset(): void;
  batchInit(columns: number): void;
  batchSize(rows: number, selected: number): void;
  batchColumns(a: number, b: number, c: number): void;
  columnAt(i: number): number;
  selectionAt(): number;
  registerAt(i: number): number;
  programNew(ptr: number, len: number, acct: number): number;
  programFree(program: number): void;
  vmRun(program: number): void;
}

export const maxColumns = 8;

/** Runs programs over one batch. */
export class VmKernel {
  readonly exports: Exports;
  readonly values: ValueAccess;

  /** `call` serves the host functions of programs. */
  constructor(call: (fn: number, columns: HostColumns) => void = () => {}) {
    const env = {
      abort: (_message: number, _file: number, line: number) => {
        throw new Error(`abort in line ${line}`);
      },
    };
    const imports = {
      env,
      host: { call: hostCallImport(() => this.values, call), clock: () => performance.now() * 1000 },
    };
    this.exports = new WebAssembly.Instance(testModule('vm'), imports).exports as unknown as Exports;
    this.exports.contextInit();
    this.exports.batchInit(maxColumns);
    this.values = new ValueAccess(this.exports.memory, (size, isCounted) => this.exports.hostScratch(size, isCounted));
  }

  /** Starts a batch of these columns; `selected` are the row numbers that count. `keep` leaves older texts in place. */
  setBatch(columns: Value[][], rows: number, selected: number[], keep = false): void {
    if (!keep) this.exports.scratchReset();
    columns.forEach((column, i) => {
      this.setColumn(this.exports.columnAt(i), column, selected);
    });
    const sel = this.exports.selectionAt();
    selected.forEach((row, k) => {
      this.values.view().setUint32(sel + k * 4, row, true);
    });
    this.exports.batchSize(rows, selected.length);
  }

  private setColumn(block: number, values: Value[], selected: number[]): void {
    const tags = values.map((value, row) => {
      const tag = this.values.write(block + column.at.vals + row * 8, value);
      this.values.bytes()[block + column.at.tags + row] = tag;
      return tag;
    });
    const kinds = new Set(selected.map((row) => tags[row]));
    const first = kinds.values().next().value;
    this.values.bytes()[block] = kinds.size === 1 && first !== undefined ? first : Tag.mixed;
    this.values.bytes()[block + 1] = 0;
  }

  /** Makes a program in kernel memory. */
  load(program: Program): number {
    const bytes = encodeProgram(program);
    const at = this.exports.alloc(bytes.length, 0);
    this.values.bytes().set(bytes, at);
    return this.exports.programNew(at, bytes.length, 0);
  }

  /** Runs the program over the batch and returns the register's values at the selected rows. */
  run(program: Program, selected: number[], result: Operand): Value[] {
    const made = this.load(program);
    this.exports.vmRun(made);
    this.exports.programFree(made);
    return this.register(result, selected);
  }

  register(index: number, selected: number[]): Value[] {
    const block = this.exports.registerAt(index);
    const bytes = this.values.bytes();
    const uniform = bytes[block];
    return selected.map((row) => {
      const tag = bytes[block + column.at.tags + row] ?? 0;
      if (uniform !== Tag.mixed && uniform !== tag) throw new Error(`header says ${uniform}, row ${row} has ${tag}`);
      return this.values.read(tag, block + column.at.vals + row * 8);
    });
  }
}
