/** Pages of functions, as markdown: one for each group, and a list of all. */

const titles = {
  'multi-row': 'Functions that make rows',
  misc: 'Other functions',
  aggregate: 'Aggregates',
  analytic: 'Analytic functions',
  datetime: 'Functions of dates and times',
  time: 'Functions of windows and event time',
  meta: 'Functions of rule and message',
  library: 'Functions on libraries',
  json: 'JSON functions',
};
const kinds = { int: 'whole number', boolean: 'true or false', datetime: 'time', string: 'text', struct: 'object' };
Object.assign(kinds, { array: 'list', bytea: 'bytes' });

const titleOf = (category) => titles[category] ?? `${category[0].toUpperCase()}${category.slice(1)} functions`;
const wordOf = (kind) => kinds[kind] ?? kind;
const pageOf = (category) => `docs/functions/${category}.md`;

/** The pages by their sources, which are no files. */
export function functionPages(functions) {
  const ordered = functions.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const categories = [...new Set(ordered.map(({ category }) => category))].sort();
  const groups = categories.map((category) => [category, ordered.filter((one) => one.category === category)]);
  return new Map([
    ['docs/functions.md', overview(groups)],
    ...groups.map(([category, list]) => [
      pageOf(category),
      `# ${titleOf(category)}\n\n${list.map(section).join('\n')}`,
    ]),
  ]);
}

function overview(groups) {
  const sections = groups.map(([category, list]) => {
    const rows = list.map(
      ({ name, doc }) => `| [\`${name}\`](functions/${category}.md#${name.toLowerCase()}) | ${cell(doc)} |`,
    );
    const more = `[With arguments and examples](functions/${category}.md)`;
    return `## ${category}\n\n${more}\n\n| Function | Meaning |\n|---|---|\n${rows.join('\n')}\n`;
  });
  return `# Functions

Every function by its group. Names match in any letter case.

${sections.join('\n')}`;
}

function section({ name, aliases, args, returns, nulls, doc, example, shown }) {
  const also = aliases === undefined ? '' : `\n\nAlso ${aliases.map((one) => `\`${one}\``).join(', ')}.`;
  const rows = args.map((arg) => `| \`${arg.name}\` | ${cell(valuesOf(arg))} | ${manner(arg)} |`);
  const table = rows.length === 0 ? '' : `\n| Argument | Values | |\n|---|---|---|\n${rows.join('\n')}\n`;
  const ofNull = nulls === 'propagate' && args.length > 0 ? ' Null when an argument is null.' : '';
  return `## ${name}

\`\`\`sql
${signature(name, args)}
\`\`\`

${doc}${also}
${table}
Result: ${returns}.${ofNull} Example:

${shown === undefined ? fence('sql', example) : fence('case', shown)}
`;
}

const fence = (language, text) => `\`\`\`${language}\n${text}\n\`\`\``;
const cell = (text) => text.replaceAll('|', '\\|').replaceAll('\n', ' ');

function signature(name, args) {
  const texts = args.map((arg) => {
    const text = arg.variadic ? `${arg.name}, …` : arg.name;
    return arg.optional ? `[${text}]` : text;
  });
  return `${name}(${texts.join(', ')})`;
}

function valuesOf({ type, takes }) {
  return (takes ?? [type]).map(wordOf).join(', ');
}

function manner({ optional, variadic }) {
  if (variadic) return optional ? 'none or more' : 'one or more';
  return optional ? 'may be left out' : '';
}
