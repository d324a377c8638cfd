/** Pages of the REST interface, as markdown: one for each resource, and one for the forms of bodies. */
import { slugger } from '../anchors.mjs';

const folder = 'docs/api';
const successes = /^2/;

/** The pages by their sources, which are no files. */
export function apiPages({ paths, components }) {
  const operations = Object.entries(paths).flatMap(([path, of]) =>
    Object.entries(of).map(([method, operation]) => ({ path, method: method.toUpperCase(), ...operation })),
  );
  const tags = [...new Set(operations.map(({ tags: [tag] }) => tag))].sort();
  const groups = tags.map((tag) => [tag, operations.filter(({ tags: [own] }) => own === tag)]);
  return new Map([
    [`${folder}/README.md`, overview(groups, components)],
    [`${folder}/bodies.md`, bodies(components.schemas)],
    ...groups.map(([tag, list]) => [`${folder}/${tag}.md`, `# /${tag}\n\n${list.map(operationText).join('\n')}`]),
  ]);
}

const titleOf = ({ method, path }) => `${method} ${path}`;

function overview(groups, { securitySchemes }) {
  const sections = groups.map(([tag, list]) => {
    const nameOf = slugger();
    const rows = list.map((one) => {
      const link = `[\`${titleOf(one)}\`](${tag}.md#${nameOf(titleOf(one))})`;
      return `| ${link} | ${cell(one.summary)} |`;
    });
    return `## ${tag}\n\n| Request | What it does |\n|---|---|\n${rows.join('\n')}\n`;
  });
  return `# REST interface

Every route of the server, by resource. The same as a document of OpenAPI 3.1: \`GET /openapi.json\`.
[Forms of bodies](bodies.md) are on a page of their own.

A refusal is JSON with a code and the reason: \`{"error": 1000, "message": "…"}\`. With \`basic.authentication\` each
request has the header \`${securitySchemes.token.name}\`: ${securitySchemes.token.description}. See
[security](../security.md).

| Status | Meaning |
|---|---|
| 200, 201, 204 | done |
| 400 | the request can't be done; the message names field and reason |
| 401 | the token is missing or wrong |
| 404 | nothing has this id, or there is no such path |
| 405 | the path has no such method |
| 413 | the body is too large |
| 500 | the disk did not take the change, and nothing has changed; or a defect of the server |
| 503 | too many large bodies at once, or large rules wait to be planned; try again later |

${sections.join('\n')}`;
}

function operationText(operation) {
  const { summary, parameters = [], requestBody, responses } = operation;
  const rows = parameters.map(({ name, in: place, required, description = '', schema }) =>
    row([
      `\`${name}\``,
      place === 'path' ? 'in the path' : place,
      typeOf(schema),
      required ? 'needed' : '',
      description,
    ]),
  );
  const table =
    rows.length === 0
      ? ''
      : `\n| Parameter | Where | Values | | Meaning |\n|---|---|---|---|---|\n${rows.join('\n')}\n`;
  const optional = requestBody?.required === false ? ' (may be left out)' : '';
  const body = requestBody === undefined ? '' : `\nBody${optional}: ${contentOf(requestBody)}\n`;
  const answers = Object.entries(responses)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([status, { description, content }]) => row([status, description, contentOf({ content })]));
  const order = answers.filter((text) => successes.test(text.slice(2)));
  const rest = answers.filter((text) => !order.includes(text));
  return `## ${titleOf(operation)}

${summary}.
${table}${body}
| Answer | Meaning | Body |
|---|---|---|
${[...order, ...rest].join('\n')}
`;
}

function contentOf({ content = {} }) {
  const forms = Object.entries(content).map(([type, { schema = {} }]) => {
    const form = typeOf(schema);
    return type === 'application/json' ? form : `\`${type}\`${form === 'text' || form === 'any' ? '' : `, ${form}`}`;
  });
  return forms.length === 0 ? 'none' : forms.join('; or ');
}

/** A schema in words; names of schemas are links. */
function typeOf(schema) {
  if (schema === true) return 'any';
  const { $ref, anyOf, enum: values, type, items, properties, additionalProperties } = schema;
  if ($ref !== undefined) {
    const name = $ref.split('/').at(-1);
    return `[${name}](bodies.md#${name.toLowerCase()})`;
  }
  if (anyOf !== undefined) return anyOf.map(typeOf).join(' or ');
  if (values !== undefined) return values.map((value) => `\`${value}\``).join(', ');
  if (type === 'array') return `list of ${typeOf(items ?? true)}`;
  if (type === 'object' && properties !== undefined) {
    return `object (${Object.entries(properties)
      .map(([name, one]) => `\`${name}\`: ${typeOf(one)}`)
      .join(', ')})`;
  }
  if (type === 'object' && typeof additionalProperties === 'object') return `object of ${typeOf(additionalProperties)}`;
  return { string: 'text', integer: 'whole number', boolean: 'true or false', null: 'null' }[type] ?? type ?? 'any';
}

function bodies(schemas) {
  const sections = Object.entries(schemas)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, schema]) => `## ${name}\n\n${bodyText(schema)}`);
  const about = 'What requests and answers of the [REST interface](README.md) have in them.';
  return `# Forms of bodies\n\n${about}\n\n${sections.join('\n')}`;
}

function bodyText(schema) {
  const { description, properties, required = [], additionalProperties } = schema;
  const about = description === undefined ? '' : `${description}\n\n`;
  if (properties === undefined) return `${about}${typeOf(schema)}\n`;
  const rows = Object.entries(properties).map(([name, one]) =>
    row([`\`${name}\``, typeOf(one), required.includes(name) ? 'always' : '', one.description ?? '']),
  );
  const others =
    typeof additionalProperties === 'object' ? `\nFurther members: ${typeOf(additionalProperties)}.\n` : '';
  return `${about}| Member | Values | There | Meaning |\n|---|---|---|---|\n${rows.join('\n')}\n${others}`;
}

const cell = (text) => String(text).replaceAll('|', '\\|').replaceAll('\n', ' ');
const row = (cells) => `| ${cells.map(cell).join(' | ')} |`;
