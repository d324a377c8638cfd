/** Checks values, and expectations with matchers, against the JSON schemas of the OpenAPI document. */

// biome-ignore lint/suspicious/noExplicitAny: documents of every shape
export type Json = any;

/** Says where a value does not fit a schema; undefined when it does. The keywords are those that the document uses. */
export function misfit(document: Json, schema: Json, value: Json, at = '$'): string | undefined {
  if (schema === true || schema === undefined) return undefined;
  if (schema.$ref !== undefined) return misfit(document, resolved(document, schema.$ref), value, at);
  if (isMatcher(value)) return matcherMisfit(document, schema, value, at);
  if (schema.anyOf !== undefined) {
    const reasons = schema.anyOf.map((one: Json) => misfit(document, one, value, at));
    return reasons.includes(undefined) ? undefined : reasons.join(' or ');
  }
  if (schema.enum !== undefined && !schema.enum.includes(value)) return `${at}: ${show(value)} is not in the list`;
  if (schema.type !== undefined && !hasType(schema.type, value)) return `${at}: ${show(value)} is no ${schema.type}`;
  if (Array.isArray(value)) return first(value, (item, i) => misfit(document, schema.items, item, `${at}[${i}]`));
  if (typeof value !== 'object' || value === null) return undefined;
  const missing = (schema.required ?? []).find((name: string) => !(name in value));
  if (missing !== undefined) return `${at}: ${missing} is missing in ${show(value)}`;
  return membersMisfit(document, schema, value, at);
}

function membersMisfit(document: Json, schema: Json, value: Json, at: string): string | undefined {
  return first(Object.entries(value), ([name, item]) => {
    const own = schema.properties?.[name] ?? schema.additionalProperties ?? true;
    return own === false ? `${at}: ${name} is not described` : misfit(document, own, item, `${at}.${name}`);
  });
}

/** Whether some value that the matcher takes could fit: only what is certain is judged. */
function matcherMisfit(document: Json, schema: Json, matcher: Json, at: string): string | undefined {
  for (const [operator, argument] of Object.entries(matcher) as [string, Json][]) {
    const reason = operatorMisfit(document, schema, operator, argument, at);
    if (reason !== undefined) return reason;
  }
  return undefined;
}

function operatorMisfit(
  document: Json,
  schema: Json,
  operator: string,
  argument: Json,
  at: string,
): string | undefined {
  const kinds = typesOf(document, schema);
  const allows = (kind: string) => kinds === undefined || kinds.has(kind);
  switch (operator) {
    case '$type': {
      const fits = (argument as string)
        .split('|')
        .some(
          (kind) =>
            allows(kind) || (kind === 'number' && allows('integer')) || (kind === 'integer' && allows('number')),
        );
      return fits ? undefined : `${at}: ${argument} is expected, ${[...(kinds ?? [])]} is described`;
    }
    case '$regex':
    case '$json':
      return allows('string') ? undefined : `${at}: a text is expected, ${[...(kinds ?? [])]} is described`;
    case '$partial':
      if (!allows('object')) return `${at}: an object is expected, ${[...(kinds ?? [])]} is described`;
      return anyOf(document, schema, (one) => {
        const present = Object.entries(argument).filter(([, item]) => (item as Json)?.$absent !== true);
        return membersMisfit(document, one, Object.fromEntries(present), at);
      });
    case '$unordered':
      return first(argument as Json[], (item, i) =>
        anyOf(document, schema, (one) => misfit(document, one.items, item, `${at}[${i}]`)),
      );
    case '$oneOf': {
      const reasons = (argument as Json[]).map((one) => misfit(document, schema, one, at));
      return reasons.includes(undefined) ? undefined : reasons.join(' or ');
    }
    case '$all':
      return first(argument as Json[], (one) => misfit(document, schema, one, at));
    case '$each':
      return anyOf(document, schema, (one) => misfit(document, one.items, argument, `${at}[]`));
    case '$values':
      return anyOf(document, schema, (one) => misfit(document, one.additionalProperties, argument, `${at}.*`));
    default:
      // $any, $not, $contains, $length, $min say nothing about the form.
      return undefined;
  }
}

/** Tries the alternatives of a schema. */
function anyOf(document: Json, schema: Json, check: (one: Json) => string | undefined): string | undefined {
  if (schema === true) return undefined;
  if (schema.$ref !== undefined) return anyOf(document, resolved(document, schema.$ref), check);
  if (schema.anyOf === undefined) return check(schema);
  const reasons = schema.anyOf.map((one: Json) => anyOf(document, one, check));
  return reasons.includes(undefined) ? undefined : reasons.join(' or ');
}

/** Types a schema allows; undefined when it allows all. */
function typesOf(document: Json, schema: Json): Set<string> | undefined {
  if (schema === true) return undefined;
  if (schema.$ref !== undefined) return typesOf(document, resolved(document, schema.$ref));
  if (schema.anyOf !== undefined) {
    const all = (schema.anyOf as Json[]).map((one) => typesOf(document, one));
    return all.includes(undefined) ? undefined : new Set(all.flatMap((types) => [...(types as Set<string>)]));
  }
  if (schema.enum !== undefined) return new Set(schema.enum.map((value: Json) => typeof value));
  return schema.type === undefined ? undefined : new Set([schema.type]);
}

function isMatcher(value: Json): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).some((name) => name.startsWith('$'));
}

function hasType(type: string, value: Json): boolean {
  // The runner puts a value of an earlier answer here.
  if (typeof value === 'string' && /^\{\{\w+\}\}$/.test(value)) return true;
  switch (type) {
    case 'null':
      return value === null;
    case 'array':
      return Array.isArray(value);
    case 'object':
      return typeof value === 'object' && value !== null && !Array.isArray(value);
    case 'integer':
      return Number.isInteger(value);
    default:
      return typeof value === type;
  }
}

function resolved(document: Json, name: string): Json {
  const found = name
    .slice(2)
    .split('/')
    .reduce((at, part) => at?.[part], document);
  if (found === undefined) throw new Error(`${name} is not in the document`);
  return found;
}

function first<T>(items: readonly T[], check: (item: T, i: number) => string | undefined): string | undefined {
  for (const [i, item] of items.entries()) {
    const reason = check(item, i);
    if (reason !== undefined) return reason;
  }
  return undefined;
}

function show(value: Json): string {
  return (JSON.stringify(value) ?? 'undefined').slice(0, 100);
}

/** The operation that serves a path; undefined when nothing does, `path` alone when only other methods do. */
export function operationFor(
  document: Json,
  method: string,
  path: string,
): { path: string; operation?: Json } | undefined {
  const parts = path.split('?', 1)[0]?.split('/') ?? [];
  const fits = (template: string) => {
    const wanted = template.split('/');
    return (
      wanted.length === parts.length &&
      wanted.every((part, i) => (part.startsWith('{') ? parts[i] !== '' : part === parts[i]))
    );
  };
  const found = Object.keys(document.paths).filter(fits);
  if (found.length === 0) return undefined;
  const literal = (template: string) => template.split('/').filter((part) => !part.startsWith('{')).length;
  found.sort((a, b) => literal(b) - literal(a));
  const wanted = method === 'HEAD' ? 'get' : method.toLowerCase();
  for (const template of found) {
    const operation = document.paths[template][wanted];
    if (operation !== undefined) return { path: template, operation };
  }
  return { path: found[0] as string };
}

/** Judges an answer, or what is expected of one; `body` is undefined where nothing is known of it. */
export function answerMisfit(
  document: Json,
  request: { method: string; path: string },
  answer: { status: number; type?: string; json?: Json },
): string | undefined {
  const { method, path } = request;
  const found = operationFor(document, method, path);
  if (found === undefined) return answer.status === 404 ? undefined : `${method} ${path} is not described`;
  if (found.operation === undefined)
    return answer.status === 405 ? undefined : `${method} is not described for ${found.path}`;
  const described = found.operation.responses[answer.status];
  if (described === undefined) return `${method} ${found.path}: status ${answer.status} is not described`;
  const media = described.content?.['application/json'];
  if (answer.json === undefined || media === undefined) return undefined;
  const reason = misfit(document, media.schema, answer.json);
  return reason === undefined ? undefined : `${method} ${found.path} ${answer.status}: ${reason}`;
}
