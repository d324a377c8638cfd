/**
 * Cost of functions, in instructions. Code between two heads (the entry of a function, the beginning of a loop) only
 * goes forward, so the longest way through it bounds what runs until the next head is passed: that is what the head
 * charges.
 */
import { instructionsOf } from '../binary/bodies.js';
import type { Instructions } from '../binary/instructions.js';
import type { WasmModule } from '../binary/module.js';
import { Op } from '../binary/opcodes.js';

/** Most that callers charge for a function which charges nothing itself. */
const maxByCallers = 64;

/** Costs of instructions that take longer than others; those below come on top. */
const weights = new Map<number, number>([
  ...[0x6d, 0x6e, 0x6f, 0x70, 0x7f, 0x80, 0x81, 0x82].map((division): [number, number] => [division, 16]),
  ...[0x91, 0x95, 0x9f, 0xa3].map((rootOrQuotient): [number, number] => [rootOrQuotient, 16]),
  [Op.tableSet, 256],
  ...[Op.call, Op.callIndirect, Op.returnCall, Op.returnCallIndirect].map((call): [number, number] => [call, 4]),
  ...[Op.memoryFill, Op.memoryCopy, Op.memoryInit].map((bulk): [number, number] => [bulk, 64]),
  ...[Op.tableFill, Op.tableCopy, Op.tableInit].map((bulk): [number, number] => [bulk, 64]),
]);
/** Costs of a head itself: a loop without instructions costs time as well. */
const entryCost = 4;
const loopCost = 4;

/** A call that the callee charges for, or whose callee is not known. */
const unknown = -1;

export interface FunctionCost {
  /** Fuel that callers charge for a short function without loops; undefined: it charges itself. */
  readonly byCallers: number | undefined;
  readonly hasLoops: boolean;
  /** Fuel that the entry charges, then that of each loop in order. */
  readonly heads: readonly number[];
  /** Where the entry charges instead: all that charges comes after it, and callers charge for the short ways around. */
  readonly late?: Late | undefined;
}

interface Late {
  /** Place of an instruction in the module. */
  readonly at: number;
  /** Cost of the longest path around that place. */
  readonly around: number;
}

/** Costs of the functions that a module defines; its code must be valid. */
export function costsOf(module: WasmModule): FunctionCost[] {
  return new Costs(module).all();
}

/** Instructions that charge by a length, or because the code that they call does. */
const charging: ReadonlySet<number> = new Set([
  Op.loop,
  Op.callIndirect,
  Op.returnCallIndirect,
  Op.memoryGrow,
  Op.memoryInit,
  Op.memoryCopy,
  Op.memoryFill,
  Op.tableInit,
  Op.tableCopy,
  Op.tableGrow,
  Op.tableFill,
]);

/** Instructions that do nothing at run time. */
const marks: ReadonlySet<number> = new Set([Op.nop, Op.block, Op.loop, Op.else, Op.end]);

class Costs {
  readonly #imported: number;
  /** Fuel that a call adds for its callee, by function. */
  readonly #byCallers: number[];
  readonly #late = new Map<number, Late>();
  #mostByCallers = 0;

  constructor(private readonly module: WasmModule) {
    this.#imported = module.functions.length - module.bodies.length;
    this.#byCallers = new Array(module.bodies.length).fill(unknown);
  }

  all(): FunctionCost[] {
    const loops = this.#findUncharged();
    this.module.bodies.forEach((_body, i) => {
      const late = this.#byCallers[i] === unknown && !loops[i] ? this.#findLate(i) : undefined;
      if (late !== undefined) this.#late.set(i, late);
    });
    this.#mostByCallers = Math.max(0, ...[...this.#late.values()].map(({ around }) => around));
    for (const cost of this.#byCallers) this.#mostByCallers = Math.max(this.#mostByCallers, cost);
    return this.module.bodies.map((_body, i) => {
      const byCallers = this.#byCallers[i] as number;
      if (byCallers !== unknown) return { byCallers, hasLoops: false, heads: [] };
      return { byCallers: undefined, hasLoops: loops[i] === true, heads: this.#heads(i), late: this.#late.get(i) };
    });
  }

  /**
   * Finds the functions that charge nothing, callees before callers; what calls itself is never reached. Says which
   * have loops.
   */
  #findUncharged(): boolean[] {
    const loops: boolean[] = [];
    const callers: number[][] = this.module.bodies.map(() => []);
    /** Calls of each function whose cost is not known yet. */
    const open: number[] = [];
    const ready: number[] = [];
    this.module.bodies.forEach((_body, i) => {
      const { hasLoops, isCharging, callees } = this.#look(i);
      loops.push(hasLoops);
      open.push(isCharging ? Number.POSITIVE_INFINITY : callees.size);
      for (const callee of callees) callers[callee]?.push(i);
      if (open[i] === 0) ready.push(i);
    });
    for (let i = ready.pop(); i !== undefined; i = ready.pop()) {
      const cost = (this.#heads(i)[0] as number) - entryCost;
      if (cost > maxByCallers) continue;
      this.#byCallers[i] = cost;
      for (const caller of callers[i] as number[]) {
        open[caller] = (open[caller] as number) - 1;
        if (open[caller] === 0) ready.push(caller);
      }
    }
    return loops;
  }

  #look(i: number): { hasLoops: boolean; isCharging: boolean; callees: ReadonlySet<number> } {
    const instructions = instructionsOf(this.module, i);
    const callees = new Set<number>();
    let hasLoops = false;
    let isCharging = false;
    while (instructions.next()) {
      const { op, index } = instructions;
      if (op === Op.loop) hasLoops = true;
      if (charging.has(op)) isCharging = true;
      if (op !== Op.call && op !== Op.returnCall) continue;
      // The host charges for its own.
      if (index < this.#imported) isCharging = true;
      else callees.add(index - this.#imported);
    }
    return { hasLoops, isCharging, callees };
  }

  /** Tells whether an instruction charges by itself, or calls what does. */
  #charges({ op, index }: Instructions): boolean {
    if (op !== Op.call && op !== Op.returnCall) return charging.has(op);
    return index < this.#imported || this.#byCallers[index - this.#imported] === unknown;
  }

  /** Finds the last place before all that charges; undefined when the entry is as good. */
  #findLate(i: number): Late | undefined {
    const instructions = instructionsOf(this.module, i);
    /** Arms of blocks and conditions around the instruction: each has a number, and begins with its block. */
    const arms: { readonly arm: number; readonly start: number }[] = [];
    let count = 0;
    let around: (typeof arms)[number][] | undefined;
    let at = 0;
    while (instructions.next()) {
      const { op, start } = instructions;
      if (this.#charges(instructions)) {
        if (around === undefined) {
          around = [...arms];
          at = start;
        }
        // Another arm is not reached through this place: the place moves in front of the block that holds both.
        while (around.length > 0 && !arms.some(({ arm }) => arm === around?.at(-1)?.arm))
          at = around.pop()?.start ?? at;
      }
      if (op === Op.block || op === Op.if) arms.push({ arm: count++, start });
      else if (op === Op.else) arms.push({ arm: count++, start: arms.pop()?.start ?? start });
      else if (op === Op.end) arms.pop();
    }
    if (around === undefined) return undefined;
    const [cost = 0] = this.#heads(i, at);
    const short = cost - entryCost;
    return short > 0 && short <= maxByCallers ? { at, around: short } : undefined;
  }

  /** Cost that each head charges; with `until`, only of paths that end before that offset. */
  #heads(i: number, until = Number.POSITIVE_INFINITY): number[] {
    const instructions = instructionsOf(this.module, i);
    const ways = new Ways();
    while (instructions.next()) {
      const { op } = instructions;
      if (instructions.start === until) ways.cut();
      if (!marks.has(op)) ways.add(this.#costOf(op, instructions.index));
      ways.control(instructions);
    }
    // No loop that is run costs nothing: it has a jump.
    return ways.heads.map((cost, head) => (head === 0 ? cost + entryCost : cost > 0 ? cost + loopCost : 0));
  }

  #costOf(op: number, index: number): number {
    const own = weights.get(op) ?? 1;
    if (op === Op.call || op === Op.returnCall) {
      const callee = index - this.#imported;
      return own + Math.max(0, this.#byCallers[callee] ?? 0, this.#late.get(callee)?.around ?? 0);
    }
    if (op === Op.callIndirect || op === Op.returnCallIndirect) return own + this.#mostByCallers;
    return own;
  }
}

/** Cost of unreachable code: no path leads to it. */
const nowhere = -1;

interface Frame {
  readonly op: number;
  /** Index in `heads` of the head that charges for the code around the frame. */
  readonly head: number;
  /** Cost of the path up to the frame. */
  readonly before: number;
  /** Cost of the longest path that jumps behind the frame. */
  after: number;
}

/** Follows the ways through a function, each counted from its last head. */
class Ways {
  readonly heads: number[] = [0];
  #head = 0;
  #cost = 0;
  readonly #frames: Frame[] = [{ op: Op.block, head: 0, before: 0, after: nowhere }];
  /** For the heads around: cost of the way to the loop that is inside. */
  readonly #outer: number[] = [];

  add(cost: number): void {
    if (this.#cost === nowhere) return;
    this.#cost += cost;
    if (this.#cost > (this.heads[this.#head] as number)) this.heads[this.#head] = this.#cost;
  }

  /** No way goes on from here. */
  cut(): void {
    this.#cost = nowhere;
  }

  control(instruction: Instructions): void {
    switch (instruction.op) {
      case Op.block:
      case Op.if:
        this.#enter(instruction.op);
        return;
      case Op.loop:
        this.#enter(Op.loop);
        this.#outer[this.#head] = this.#cost;
        this.#head = this.heads.push(0) - 1;
        if (this.#cost !== nowhere) this.#cost = 0;
        return;
      case Op.else:
        this.#else();
        return;
      case Op.end:
        this.#leave();
        return;
      case Op.brIf:
        this.#jump(instruction.index);
        return;
      case Op.br:
        this.#jump(instruction.index);
        this.#cost = nowhere;
        return;
      case Op.brTable:
        for (const label of instruction.labels) this.#jump(label);
        this.#cost = nowhere;
        return;
      case Op.return:
      case Op.returnCall:
      case Op.returnCallIndirect:
      case Op.unreachable:
        this.#cost = nowhere;
    }
  }

  #enter(op: number): void {
    this.#frames.push({ op, head: this.#head, before: this.#cost, after: nowhere });
  }

  /** A jump back to a loop is no way forward. */
  #jump(label: number): void {
    const frame = this.#frames[this.#frames.length - 1 - label];
    if (frame === undefined || frame.op === Op.loop || this.#cost === nowhere) return;
    const cost = frame.head === this.#head ? this.#cost : (this.#outer[frame.head] as number);
    frame.after = Math.max(frame.after, cost);
  }

  #else(): void {
    const frame = this.#frames.pop() as Frame;
    this.#frames.push({ ...frame, op: Op.else, after: Math.max(frame.after, this.#cost) });
    this.#cost = frame.before;
  }

  #leave(): void {
    const frame = this.#frames.pop() as Frame;
    if (frame.op === Op.loop) {
      this.#head = frame.head;
      if (this.#cost !== nowhere) this.#cost = frame.before;
      return;
    }
    this.#cost = Math.max(this.#cost, frame.after);
    if (frame.op === Op.if) this.#cost = Math.max(this.#cost, frame.before);
  }
}
