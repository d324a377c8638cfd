/** Encode nodes for a rule's sinks: sinks with equal wishes share one. */
import type { NodeInput, NodePlan, OutputPlan } from '../../../kernels/plan/ir.js';
import type { RuleDefinition } from '../../model/engine.js';
import { absentSources } from '../joins/join.js';
import type { Root } from '../logical/logical.js';
import { type Path, ProgramBuilder } from '../program/program.js';
import { isNullOfNothing, type OutputSpec, outputSpec } from '../sinks/output.js';
import { type SinkWishes, sinkWishes } from '../sinks/sinks.js';
import type { Value, Values } from '../values/value.js';

export interface Output {
  spec: OutputSpec;
  wishes: SinkWishes;
  /** Indexes of the actions in the rule. */
  actions: number[];
}

/** Actions with equal wishes share one output. */
export function outputsOf({ node, actions }: Root, rule: RuleDefinition, values: Values): Output[] {
  const outputs = new Map<string, Output>();
  const absent = absentSources(node.input);
  for (const i of actions) {
    const action = rule.actions[i];
    if (action === undefined) continue;
    const tellsTime = rule.divides !== undefined && rule.options.isEventTime;
    const wishes = { ...sinkWishes(action, rule.options), ...(tellsTime ? { tellsTime } : {}) };
    const key = JSON.stringify(wishes);
    const same = outputs.get(key);
    if (same !== undefined) same.actions.push(i);
    else outputs.set(key, { spec: outputSpec(node.row, absent, wishes, values), wishes, actions: [i] });
  }
  return [...outputs.values()];
}

/** All values that an output shows. */
export function shapeValues({ spec: { shape, head, empty } }: Output): Value[] {
  const shown = shape.kind === 'object' ? [shape.value] : shape.fields.map(({ value }) => value);
  return [...shown, head, empty].filter((value) => value !== null);
}

/** The node that writes the output at the place of the path. */
export function encodeNode({ spec, wishes, actions }: Output, path: Path, input: NodeInput): NodePlan {
  const builder = new ProgramBuilder(path);
  const { shape } = spec;
  const plan: OutputPlan = {
    shape:
      shape.kind === 'object'
        ? { kind: 'object', operand: builder.operand(shape.value) }
        : {
            kind: 'fields',
            fields: shape.fields.map(({ name, value, isPlain, isBrought, isUnnamed }) => {
              const sendsNull = isNullOfNothing(value);
              const field = { name, operand: builder.operand(value), plain: isPlain || sendsNull };
              if (!spec.sendNil) return field;
              if (isBrought) return { ...field, omitMissing: true };
              return isUnnamed && !sendsNull ? { ...field, omitNull: true } : field;
            }),
          },
    format: wishes.format,
    sendSingle: spec.sendSingle,
    sendNil: spec.sendNil,
    omitIfEmpty: spec.omitIfEmpty,
    ...(spec.firstOnly ? { firstOnly: true } : {}),
    sendError: wishes.sendError,
    batchSize: wishes.batchSize,
    lingerMs: wishes.lingerMs,
    framing: wishes.framing,
    ...(spec.head === null ? {} : { head: builder.operand(spec.head) }),
    ...(spec.empty === null ? {} : { empty: builder.operand(spec.empty) }),
    ...(wishes.delimiter === undefined ? {} : { delimiter: wishes.delimiter }),
    ...(wishes.schemaId === undefined ? {} : { schemaId: wishes.schemaId }),
    ...(wishes.header === undefined ? {} : { header: wishes.header }),
    ...(wishes.tellsTime === true ? { tellsTime: true } : {}),
  };
  return { kind: 'encode', input, program: builder.finishOrNull(), output: plan, actions, name: 'project' };
}
