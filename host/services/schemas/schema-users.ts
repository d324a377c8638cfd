/** Streams and rules that name messages of protobuf schemas. */
import type { RuleJson } from '../../meta/definitions/rule-definition.js';
import type { RuleRepository } from '../../meta/definitions/rules.js';
import type { SourceRepository } from '../../meta/definitions/sources.js';

/** A stream, table or rule with what it names: `schema.Message`. */
export interface SchemaUser {
  readonly who: string;
  readonly schemaId: string;
}

/** All of them; records that can't be read are left out. */
export function schemaUsers(sources: SourceRepository, rules: RuleRepository): SchemaUser[] {
  const names = [...sources.names('stream'), ...sources.names('table')];
  return [
    ...names.flatMap((name) => readable(() => ofSource(sources, name))),
    ...rules.ids().flatMap((id) => readable(() => ofRule(id, rules.get(id)))),
  ];
}

function readable(read: () => SchemaUser[]): SchemaUser[] {
  try {
    return read();
  } catch {
    return [];
  }
}

function ofSource(sources: SourceRepository, name: string): SchemaUser[] {
  const definition = sources.get(name)?.definition;
  const { format, schemaId = null } = definition?.options ?? {};
  return format === 'protobuf' && schemaId !== null ? [{ who: `${definition?.kind} ${name}`, schemaId }] : [];
}

function ofRule(id: string, rule: RuleJson | undefined): SchemaUser[] {
  const actions = Array.isArray(rule?.actions) ? (rule.actions as Record<string, unknown>[]) : [];
  const props = actions.flatMap((action) => Object.values(action)) as (Record<string, unknown> | null)[];
  return props.flatMap((one) => {
    const isUser = String(one?.format).toLowerCase() === 'protobuf' && typeof one?.schemaId === 'string';
    return isUser ? [{ who: `rule ${id}`, schemaId: String(one?.schemaId) }] : [];
  });
}
