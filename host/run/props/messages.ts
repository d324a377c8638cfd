/** Types of protobuf messages for the streams and sinks of a rule. */
import type { NodePlan, RulePlan } from '../../../kernels/plan/ir.js';
import type { MessageTypes } from '../../../kernels/plan/message-types.js';
import { type HaumeaError, reasonOf } from '../../base/errors.js';
import { usesTypesAfterOther } from '../../codecs/index.js';
import type { Catalog, RuleDefinition } from '../../model/engine.js';
import type { StreamDefinition } from '../../sql/source-def.js';
import { propErrors } from './errors.js';

/** Types of the messages of a stream; throws a `stream` error when there are none. */
export function messagesOf({ name, kind, options }: StreamDefinition, catalog: Catalog): MessageTypes {
  return messagesNamed(options.schemaId ?? '', `${kind} ${name}`, catalog, propErrors.decoder);
}

/** Types of messages that are made of the output of a template; undefined where none are. */
export function messagesAfterOther(
  props: Readonly<Record<string, unknown>>,
  whose: string,
  catalog: Catalog,
): MessageTypes | undefined {
  if (!usesTypesAfterOther(props)) return undefined;
  return messagesNamed(String(props.schemaId ?? ''), whose, catalog, propErrors.encoder);
}

function messagesNamed(
  schemaId: string,
  whose: string,
  { messages }: Catalog,
  errorOf: (text: string) => HaumeaError,
): MessageTypes {
  if (messages === undefined) throw errorOf(`${whose}: there are no schemas`);
  if (schemaId === '') {
    const name = errorOf === propErrors.decoder ? 'SCHEMAID' : 'schemaId';
    throw errorOf(`${whose}: the format protobuf needs ${name}: the schema and its message, schema.Message`);
  }
  try {
    return messages(schemaId);
  } catch (error) {
    throw errorOf(`${whose}: ${reasonOf(error)}`);
  }
}

/** The plan with the types of messages that its actions write; throws a `sink` error when there are none. */
export function withMessages(rule: RuleDefinition, plan: RulePlan, catalog: Catalog): RulePlan {
  if (!plan.nodes.some(writesMessages)) return plan;
  const nodes = plan.nodes.map((node) => {
    if (!writesMessages(node)) return node;
    const { type = '' } = rule.actions[node.actions[0] ?? 0] ?? {};
    const messages = messagesNamed(
      node.output.schemaId ?? '',
      `rule ${rule.id}, sink ${type}`,
      catalog,
      propErrors.encoder,
    );
    return { ...node, output: { ...node.output, messages } };
  });
  return { ...plan, nodes };
}

function writesMessages(node: NodePlan): node is Extract<NodePlan, { kind: 'encode' }> {
  return node.kind === 'encode' && node.output.format === 'protobuf';
}
