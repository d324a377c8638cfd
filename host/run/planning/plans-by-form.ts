/**
 * Plans of rules that differ in constants alone. Thousands of rules have the same statement, each with its own device
 * or limit: the second of them is planned once more with constants of which there is no other, and the places of these
 * in the plan are those of the constants of all others. Such plans share everything else.
 *
 * That holds for statements in which no step of the planner looks at the value of a constant: comparisons of columns
 * with constants, joined by AND, that end the statement. Whether it does is tried: with the constants of the rule at
 * hand the plan must be the one that the planner makes. All other rules are planned one by one.
 */
import { isDeepStrictEqual } from 'node:util';
import type { ConstValue, NodePlan, Program, RulePlan } from '../../../kernels/plan/ir.js';
import type { Catalog, RuleDefinition, RuleOptions } from '../../model/engine.js';
import { getsLateRows, sinkWishes } from '../../plan/sinks/sinks.js';
import type { StreamDefinition } from '../../sql/source-def.js';
import { connectorsOf, isOf } from './known-parts.js';

/** A statement as its text before the comparisons, the comparisons without their constants, and these. */
interface Statement {
  readonly head: string;
  readonly comparisons: readonly string[];
  readonly constants: readonly ConstValue[];
}

/** A plan, and where each constant of the statement stands in it. */
interface Form {
  readonly plan: RulePlan;
  readonly places: readonly { readonly node: number; readonly constant: number }[];
  /** Other constants of the plan: equal ones are one in a plan. */
  readonly others: ReadonlySet<string>;
  readonly streams: readonly (StreamDefinition | undefined)[];
}

/** What a plan depends on of the actions of a rule. */
interface SinksKey {
  readonly options: RuleOptions;
  readonly connectors: ReturnType<typeof connectorsOf>;
  /** Undefined where a sink is no usual one. */
  readonly key: string | undefined;
}

/** Most forms that are kept; more would not be met again soon. */
const mostForms = 100;
const longestText = 256;

/** Neither texts nor calls, so none of it depends on a constant. */
const statementForm = /^(\s*SELECT\s[^'"()`;]*?\sWHERE\s+)(.*?)\s*$/is;
const comparedForm = /^([a-z_]\w*(?:\.[a-z_]\w*)?\s*(?:<=|>=|!=|=|<|>)\s*)(.*)$/i;
const constantForm = /^(?:"([ !#-[\]-~\u00a1-\ud7ff]*)"|((?:0|[1-9]\d{0,14}))|((?:0|[1-9]\d{0,8})\.\d{1,9}))$/;
/** What begins with a digit, or hides what follows. */
const numberOrComment = /(^|[^\w.])[\d.]|--|\/\*/;

export class PlansByForm {
  /** What is known of each form: it was met, no plan serves all rules of it, or its plan. */
  readonly #forms = new Map<string, 'met' | 'none' | Form>();
  /** Operators of the plans of forms. */
  readonly #operators = new WeakSet<RulePlan['operators']>();
  readonly #numbers = new WeakMap<RuleOptions, number>();
  #count = 0;
  readonly #sinks = new WeakMap<RuleDefinition['actions'], SinksKey>();

  constructor(
    private readonly planOf: (rule: RuleDefinition, catalog: Catalog) => RulePlan,
    private readonly zoneOf: (options: RuleOptions) => string,
  ) {}

  /** Plans a rule; throws as the planner does. */
  plan(rule: RuleDefinition, catalog: Catalog): RulePlan {
    const statement = rule.test === undefined && rule.graph === undefined ? readStatement(rule.sql) : undefined;
    const key = statement && this.#keyOf(rule, statement);
    if (statement === undefined || key === undefined) return this.planOf(rule, catalog);
    const known = this.#forms.get(key);
    if (known === 'none') return this.planOf(rule, catalog);
    if (typeof known === 'object' && isCurrent(known, catalog)) {
      return planWith(known, statement.constants) ?? this.planOf(rule, catalog);
    }
    const plan = this.planOf(rule, catalog);
    if (this.#forms.size >= mostForms) this.#forms.clear();
    const form = known === undefined ? 'met' : this.#makeForm(rule, statement, plan, catalog);
    this.#forms.set(key, form);
    if (typeof form === 'object') this.#operators.add(form.plan.operators);
    return plan;
  }

  /** See `Planner`. */
  formOf({ operators }: RulePlan): object | undefined {
    return this.#operators.has(operators) ? operators : undefined;
  }

  /** Makes the form of a rule that has this plan. */
  #makeForm(rule: RuleDefinition, statement: Statement, plan: RulePlan, catalog: Catalog): Form | 'none' {
    const streams = plan.sources.map(({ stream }) => catalog.source(stream));
    const isFixed = streams.every((one) => one !== undefined && (one.options.schemaId ?? '') === '');
    if (!isFixed || plan.lookups !== undefined || plan.brought !== undefined) return 'none';
    const marks = statement.constants.map(markOf);
    const marked = this.planOf({ ...rule, sql: textOf(statement, marks) }, catalog);
    const places = marks.map((mark) => placesOf(marked, mark));
    if (places.some(({ length }) => length !== 1)) return 'none';
    const others = new Set(constantsOf(marked).map(keyOf));
    for (const mark of marks) others.delete(keyOf(mark));
    const form = { plan: marked, places: places.map(([place]) => place!), others, streams };
    return isDeepStrictEqual(planWith(form, statement.constants), plan) ? form : 'none';
  }

  /** All that a plan depends on beside constants and streams; undefined where a sink is no usual one. */
  #keyOf({ actions, options }: RuleDefinition, { head, comparisons, constants }: Statement): string | undefined {
    const sinks = this.#sinksKey(actions, options);
    if (sinks === undefined) return undefined;
    let number = this.#numbers.get(options);
    if (number === undefined) {
      number = this.#count++;
      this.#numbers.set(options, number);
    }
    const tags = constants.map(({ tag }) => tag);
    return JSON.stringify([head, comparisons, tags, number, this.zoneOf(options), sinks]);
  }

  /** What a plan depends on of the sinks; rules share their actions, so it is found once for many. */
  #sinksKey(actions: RuleDefinition['actions'], options: RuleOptions): string | undefined {
    const before = this.#sinks.get(actions);
    if (before?.options === options && isOf(before.connectors, actions)) return before.key;
    const key = sinksKeyOf(actions, options);
    this.#sinks.set(actions, { options, connectors: connectorsOf(actions), key });
    return key;
  }
}

function sinksKeyOf(actions: RuleDefinition['actions'], options: RuleOptions): string | undefined {
  if (actions.some(({ deadLettersOf }) => deadLettersOf !== undefined)) return undefined;
  try {
    const sinks = actions.map((action) => [action.type, getsLateRows(action), sinkWishes(action, options)]);
    return JSON.stringify(sinks);
  } catch {
    // The planner says what is wrong.
    return undefined;
  }
}

/** The last statement that was read: several ask for that of the rule at hand. */
let last: { readonly sql: string; readonly statement: Statement | undefined } = { sql: '', statement: undefined };

/** Takes a statement apart; undefined when it is no simple one. */
export function readStatement(sql: string): Statement | undefined {
  if (last.sql !== sql) last = { sql, statement: takeApart(sql) };
  return last.statement;
}

function takeApart(sql: string): Statement | undefined {
  const [, head, conditions] = statementForm.exec(sql) ?? [];
  if (head === undefined || conditions === undefined || numberOrComment.test(head)) return undefined;
  const comparisons: string[] = [];
  const constants: ConstValue[] = [];
  for (const part of conditions.split(/\s+AND\s+/i)) {
    const [, comparison, compared = ''] = comparedForm.exec(part) ?? [];
    const [found, text, integer, decimal] = constantForm.exec(compared) ?? [];
    if (comparison === undefined || found === undefined || found.length > longestText) return undefined;
    comparisons.push(comparison);
    if (text !== undefined) constants.push({ tag: 'str', value: text });
    else if (integer !== undefined) constants.push({ tag: 'i64', value: BigInt(integer) });
    else constants.push({ tag: 'f64', value: Number(decimal) });
  }
  return { head, comparisons, constants };
}

/** A constant of the same kind that no statement has. */
function markOf({ tag }: ConstValue, i: number): ConstValue {
  if (tag === 'str') return { tag, value: `\u00abconstant ${i}\u00bb` };
  return tag === 'i64' ? { tag, value: 777_000_111_222_333n + BigInt(i) } : { tag: 'f64', value: 777_000_111.25 + i };
}

function textOf({ head, comparisons }: Statement, constants: readonly ConstValue[]): string {
  const texts = constants.map((one) =>
    one.tag === 'str' ? `"${one.value}"` : String((one as { value: unknown }).value),
  );
  return head + comparisons.map((comparison, i) => comparison + texts[i]).join(' AND ');
}

const programOf = (node: NodePlan): Program | null | undefined =>
  'program' in node ? (node.program as Program | null | undefined) : undefined;

function constantsOf({ nodes }: RulePlan): ConstValue[] {
  return nodes.flatMap((node) => programOf(node)?.consts ?? []);
}

const keyOf = (one: ConstValue): string => `${one.tag} ${'value' in one ? String(one.value) : ''}`;

function placesOf({ nodes }: RulePlan, mark: ConstValue): { node: number; constant: number }[] {
  return nodes.flatMap((plan, node) =>
    (programOf(plan)?.consts ?? []).flatMap((one, constant) =>
      keyOf(one) === keyOf(mark) ? [{ node, constant }] : [],
    ),
  );
}

/** The plan with these constants; undefined when some are equal, which one place would serve. */
function planWith({ plan, places, others }: Form, constants: readonly ConstValue[]): RulePlan | undefined {
  const keys = new Set(constants.map(keyOf));
  if (keys.size < constants.length) return undefined;
  for (const key of keys) if (others.has(key)) return undefined;
  const nodes = [...plan.nodes];
  places.forEach(({ node, constant }, i) => {
    const before = nodes[node] as Extract<NodePlan, { kind: 'filter' }>;
    const consts = [...before.program.consts];
    consts[constant] = constants[i]!;
    nodes[node] = { ...before, program: { ...before.program, consts } };
  });
  return { ...plan, nodes };
}

function isCurrent({ plan, streams }: Form, catalog: Catalog): boolean {
  return plan.sources.every(({ stream }, i) => catalog.source(stream) === streams[i]);
}
