/** A node of a plan as the kernel takes it: kind, program and spec as bytes with operands linked to the input batch. */

import { encodeAnalytic } from './analytic-spec.js';
import type { LinkedNode } from './api.js';
import { encodeAsof } from './asof-spec.js';
import { expandSpec, FilterFlag, filterSpec, hitsSpec, lateSpec, limitSpec, NodeKind } from './gen/layouts.js';
import { encodeInterval } from './interval-spec.js';
import { NONE, type Operand, type OutputPlan, type Program, type WindowPlan } from './ir.js';
import { encodeJoin, encodeMerge, encodePort } from './join-spec.js';
import { block, blockWithOperands } from './layout.js';
import { encodeKeyedTable, encodeLookup } from './lookup-spec.js';
import { isBatch } from './output-plan.js';
import { encodeOutput } from './output-spec.js';
import { encodeProgram, relocateColumns, relocateOperand, startedAt } from './program.js';
import { encodeDedup, encodeEventTime, encodeSort, encodeWindow } from './window-spec.js';
import { zoneNumber } from './zones.js';

export interface NodeImage {
  kind: number;
  program: Uint8Array | null;
  spec: Uint8Array;
  /** Rows that fail travel on as error rows. */
  sendsErrors: boolean;
  /** Equal nodes below the same parent can be one: the node keeps nothing from batch to batch, or the same for all. */
  isShareable: boolean;
}

/**
 * Encodes the node. Throws RangeError when the plan does not fit the kernel's limits.
 * @param branches of the merge node above, 1 without one
 */
export function nodeImage(linked: LinkedNode, branches = 1): NodeImage {
  const { plan, columnMap } = linked;
  const sendsErrors = linked.sendError ?? (plan.kind === 'encode' && plan.output.sendError);
  const operand = (value: Operand): Operand => (columnMap === null ? value : relocateOperand(value, columnMap));
  const start = linked.now ?? Date.now();
  const program = (value: Program | null): Uint8Array | null =>
    value === null || (value.ops.length === 0 && value.consts.length === 0)
      ? null
      : encodeProgram(startedAt(relocateColumns(value, columnMap), start));
  const startedStep = <S extends { program: Program | null }>(step: S): S =>
    step.program === null ? step : { ...step, program: startedAt(step.program, start) };
  switch (plan.kind) {
    case 'filter':
      return {
        kind: NodeKind.filter,
        program: program(plan.program),
        spec: block(filterSpec, {
          condition: operand(plan.condition),
          flags:
            (plan.isWhole === true ? FilterFlag.whole : 0) |
            (plan.meetsEmpty === true ? FilterFlag.meetsEmpty : 0) |
            (plan.keepsEmpty === true ? FilterFlag.keepsEmpty : 0),
        }),
        sendsErrors,
        isShareable: true,
      };
    case 'limit':
      return {
        kind: NodeKind.limit,
        program: null,
        spec: block(limitSpec, { count: limitCount(plan.count) }),
        sendsErrors,
        isShareable: false,
      };
    case 'expand': {
      const columns = plan.columns.map(operand);
      const most = Math.min(plan.most, 0xffffffff);
      const fixed = { list: operand(plan.list), members: plan.of === 'members' ? 1 : 0, most, columns: columns.length };
      return {
        kind: NodeKind.expand,
        program: program(plan.program),
        spec: blockWithOperands(expandSpec, fixed, columns),
        sendsErrors,
        isShareable: true,
      };
    }
    case 'encode':
      return {
        kind: NodeKind.encode,
        program: program(plan.program),
        spec: encodeOutput(linkOutput(plan.output, operand)),
        sendsErrors,
        isShareable: !isBatch(plan.output),
      };
    case 'window':
      return {
        kind: NodeKind.window,
        program: program(plan.program),
        spec: encodeWindow(linkWindow(plan, operand), zoneNumber(linked.zone ?? 'UTC')),
        sendsErrors,
        isShareable: false,
      };
    case 'eventTime':
      return {
        kind: NodeKind.eventTime,
        program: program(plan.program ?? null),
        spec: encodeEventTime(
          { ...plan, timestamp: operand(plan.timestamp) },
          columnMap,
          plan.isOrdered === true ? 0 : branches,
        ),
        sendsErrors,
        isShareable: false,
      };
    case 'late':
      return {
        kind: NodeKind.late,
        program: null,
        spec: block(lateSpec, { branch: plan.branch }),
        sendsErrors,
        isShareable: false,
      };
    case 'dedup':
      return {
        kind: NodeKind.dedup,
        program: program(plan.program),
        spec: encodeDedup(plan, operand),
        sendsErrors,
        isShareable: false,
      };
    case 'sort':
      return {
        kind: NodeKind.sort,
        program: program(plan.program),
        spec: encodeSort({
          ...plan,
          keys: plan.keys.map((key) => ({ ...key, operand: operand(key.operand) })),
        }),
        sendsErrors,
        isShareable: false,
      };
    case 'analytic':
      return {
        kind: NodeKind.analytic,
        program: program(plan.program),
        spec: encodeAnalytic(
          plan.functions.map((fn) => ({
            ...fn,
            args: fn.args.map(operand),
            partition: fn.partition.map(operand),
            ...(fn.when === undefined ? {} : { when: operand(fn.when) }),
          })),
          plan.ttlMs,
        ),
        sendsErrors,
        isShareable: false,
      };
    case 'hits':
      return {
        kind: NodeKind.hits,
        program: program(plan.program),
        spec: block(hitsSpec, {
          condition: operand(plan.condition),
          count: plan.count,
          time: plan.time,
          when: operand(plan.when),
          judged: plan.judged ?? NONE,
        }),
        sendsErrors,
        isShareable: false,
      };
    case 'merge':
      return { kind: NodeKind.merge, program: null, spec: encodeMerge(plan), sendsErrors, isShareable: false };
    case 'port':
      return {
        kind: NodeKind.port,
        program: program(plan.program),
        spec: encodePort(linked.target ?? 0, plan.branch, operand(plan.timestamp ?? NONE), plan.columns.map(operand)),
        sendsErrors,
        isShareable: false,
      };
    case 'join':
      return {
        kind: NodeKind.join,
        program: program(plan.program),
        spec: encodeJoin({ ...plan, steps: plan.steps.map(startedStep) }),
        sendsErrors,
        isShareable: false,
      };
    case 'asof':
      return {
        kind: NodeKind.asof,
        program: program(plan.program),
        spec: encodeAsof({
          ...plan,
          keys: plan.keys.map(({ left, right }) => ({ left: operand(left), right: operand(right) })),
          columns: plan.columns.map(operand),
          fields: plan.fields.map(operand),
        }),
        sendsErrors,
        isShareable: false,
      };
    case 'interval':
      return {
        kind: NodeKind.interval,
        program: program(plan.program),
        spec: encodeInterval({
          ...plan,
          keys: plan.keys.map(({ left, right }) => ({ left: operand(left), right: operand(right) })),
          lefts: plan.lefts.map(operand),
          rights: plan.rights.map(operand),
          condition: plan.condition && startedStep(plan.condition),
        }),
        sendsErrors,
        isShareable: false,
      };
    case 'keyedTable': {
      const { key, row, sent, kindName, keyName } = plan;
      return {
        kind: NodeKind.keyedTable,
        program: program(plan.program),
        spec: encodeKeyedTable(key, [row, sent, kindName, keyName].map(operand)),
        sendsErrors: false,
        isShareable: true,
      };
    }
    case 'lookup':
    case 'ask':
      return {
        kind: NodeKind[plan.kind],
        program: program(plan.program),
        spec: encodeLookup(
          { ...plan, condition: plan.condition && startedStep(plan.condition) },
          linked.target ?? 0,
          operand,
        ),
        sendsErrors,
        isShareable: false,
      };
    default:
      return plan satisfies never;
  }
}

type WindowNode = Extract<LinkedNode['plan'], { kind: 'window' }>;

function linkWindow(plan: WindowNode, operand: (value: Operand) => Operand): WindowNode {
  const optional = (value: Operand | undefined): Operand | undefined => (value === undefined ? value : operand(value));
  const { window } = plan;
  return {
    ...plan,
    window: linkTriggers(window, operand),
    timestamp: optional(plan.timestamp),
    where: optional(plan.where),
    keys: plan.keys.map(operand),
    keep: plan.keep.map(operand),
    aggs: plan.aggs.map((agg) => ({ ...agg, args: agg.args.map(operand), filter: optional(agg.filter) })),
  };
}

function linkTriggers(window: WindowPlan, operand: (value: Operand) => Operand): WindowPlan {
  const partition = 'partition' in window ? { partition: window.partition?.map(operand) ?? [] } : {};
  switch (window.kind) {
    case 'state':
      return {
        ...window,
        begin: operand(window.begin),
        ...(window.emit === undefined ? {} : { emit: operand(window.emit) }),
        ...partition,
      };
    case 'message':
      return { ...window, start: operand(window.start), end: operand(window.end), trigger: operand(window.trigger) };
    case 'sliding':
      return { ...window, ...(window.trigger === undefined ? {} : { trigger: operand(window.trigger) }), ...partition };
    default:
      return { ...window, ...partition };
  }
}

function linkOutput(output: OutputPlan, operand: (value: Operand) => Operand): OutputPlan {
  const { shape, head, empty } = output;
  const linked = {
    ...output,
    ...(head === undefined ? {} : { head: operand(head) }),
    ...(empty === undefined ? {} : { empty: operand(empty) }),
  };
  if (shape.kind === 'object') return { ...linked, shape: { kind: 'object', operand: operand(shape.operand) } };
  const fields = shape.fields.map((field) => ({ ...field, operand: operand(field.operand) }));
  return { ...linked, shape: { kind: 'fields', fields } };
}

function limitCount(count: number): number {
  if (!(Number.isInteger(count) && count >= 0))
    throw new RangeError(`LIMIT must be a whole number from 0, not ${count}`);
  return Math.min(count, 0xffffffff);
}
