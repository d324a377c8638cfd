/** All commands of the client: names, arguments, help texts, requests. */
import { clusterCommands } from './cluster.js';
import { type Call, type Command, UsageError } from './command.js';
import { fleetCommands } from './fleet.js';
import { definition, definitionText, fileFlag, named, readText } from './input.js';
import { table } from './print.js';
import { queryCommand } from './query.js';
import { importFailures, isFailed, previewText, sourceText, statusText, topologyText } from './status.js';
import { createPlugin, exportData, exportRuleset, importData, importRuleset } from './transfer.js';

const nameArg = { name: 'name' };
const kinds = { source: 'sources', sink: 'sinks', function: 'functions', portable: 'portables', wasm: 'wasm' } as const;
const kindArg = { name: 'kind', values: Object.keys(kinds) };
const typeArg = { name: 'type' };
const jsonArg = { name: 'json', isOptional: true };

const segment = encodeURIComponent;
const named1 = (base: string) => (call: Call) => `${base}/${segment(call.arg('name'))}`;
const rulePath = named1('/rules');
const pluginsPath = (call: Call) => `/plugins/${kinds[call.arg('kind') as keyof typeof kinds]}`;
const pluginPath = (call: Call) => `${pluginsPath(call)}/${segment(call.arg('name'))}`;
const schemasPath = (call: Call) => `/schemas/${segment(call.arg('type'))}`;
const schemaPath = (call: Call) => `${schemasPath(call)}/${segment(call.arg('name'))}`;

/** A command that is one request whose answer is printed. */
function request(
  path: string,
  doc: string,
  method: string,
  to: string | ((call: Call) => string),
  rest: Pick<Command, 'args' | 'flags'> & { body?: (call: Call) => unknown } = {},
): Command {
  const { body, ...declared } = rest;
  return {
    path,
    doc,
    ...declared,
    run: async (call) => {
      call.print(await call.client.send(method, typeof to === 'string' ? to : to(call), body?.(call)));
      return 0;
    },
  };
}

/** A command that reads an object and prints it in a form of its own. */
function look(
  path: string,
  doc: string,
  to: (call: Call) => string,
  text: (json: Record<string, unknown>) => string,
  args: Command['args'] = [nameArg],
): Command {
  return {
    path,
    doc,
    args,
    run: async (call) => {
      const answer = await call.client.send('GET', to(call));
      if (call.isJson || answer.json === undefined) call.print(answer);
      else call.io.out(text(answer.json as Record<string, unknown>));
      return 0;
    },
  };
}

/** `demo (a BIGINT) WITH (…)` and a whole statement mean the same. */
function statement(call: Call, kind: 'stream' | 'table'): { sql: string } {
  const text = definitionText(call, 'sql').trim();
  return { sql: /^create\s/i.test(text) ? text : `CREATE ${kind.toUpperCase()} ${text}` };
}

function sourceCommands(kind: 'stream' | 'table'): Command[] {
  const base = `/${kind}s`;
  const one = named1(base);
  return [
    request(
      `create ${kind}`,
      `create a ${kind} from SQL, with or without "CREATE ${kind.toUpperCase()}" in front`,
      'POST',
      base,
      {
        args: [{ name: 'sql', isOptional: true, isRest: true }],
        flags: [fileFlag],
        body: (call) => statement(call, kind),
      },
    ),
    look(`describe ${kind}`, `show columns and options of a ${kind}`, one, sourceText),
    request(
      `drop ${kind}`,
      `drop a ${kind}`,
      'DELETE',
      (call) => one(call) + (call.flag('force') === 'true' ? '?force=true' : ''),
      {
        args: [nameArg],
        flags: [{ name: 'force', doc: 'even when rules use it' }],
      },
    ),
    request(`show ${kind}s`, `list the ${kind}s`, 'GET', base),
  ];
}

function ruleBody(call: Call): Record<string, unknown> {
  return named(definition(call), 'id', call.arg('name'));
}

const ruleDefinition = { args: [nameArg, { ...jsonArg, isRest: true }], flags: [fileFlag], body: ruleBody };

async function updateRule(call: Call): Promise<number> {
  const body = ruleBody(call);
  // PUT creates what is not there: a name that is mistyped would become a rule of its own.
  await call.client.send('GET', rulePath(call));
  const isDry = call.flag('dry-run') === 'true';
  const answer = await call.client.send('PUT', `${rulePath(call)}${isDry ? '?dryRun=true' : ''}`, body);
  if (call.isJson || !isDry || answer.json === undefined) call.print(answer);
  else call.io.out(previewText(answer.json as Record<string, unknown>));
  return 0;
}

const secretsFlag = { name: 'no-secrets', doc: 'leave passwords and keys out' };

/** A sentence of a table. */
function shortened(text: string): string {
  return text.length > maxCell ? `${text.slice(0, maxCell)}…` : text;
}

const maxCell = 160;

const ruleCommands: Command[] = [
  request('create rule', 'create a rule and start it', 'POST', '/rules', ruleDefinition),
  {
    path: 'update rule',
    args: ruleDefinition.args,
    flags: [fileFlag, { name: 'dry-run', doc: 'change nothing, show what of its state would be lost' }],
    doc: 'replace the definition of a rule, which keeps what of its state the new one has still',
    run: updateRule,
  },
  request('validate rule', 'check a rule without creating it', 'POST', '/rules/validate', ruleDefinition),
  request('describe rule', 'show the definition of a rule', 'GET', rulePath, { args: [nameArg] }),
  request('explain rule', 'show the plan of a rule', 'GET', (call) => `${rulePath(call)}/explain`, { args: [nameArg] }),
  request('drop rule', 'drop a rule', 'DELETE', rulePath, { args: [nameArg] }),
  {
    path: 'show rules',
    doc: 'list the rules with their states and what is wrong with them',
    run: async (call) => {
      // Servers that do not know the question answer with the plain list.
      const answer = await call.client.send('GET', '/rules?trouble=true');
      const rows = Array.isArray(answer.json) ? answer.json : [];
      if (call.isJson || rows.length === 0) call.print(answer);
      else
        call.io.out(
          table(
            rows.map((rule) => ({
              ...rule,
              status: rule.ended === undefined ? rule.status : `${rule.status}: ${rule.ended}`,
              tags: rule.tags?.join(', '),
              trouble: rule.trouble?.map(shortened).join('; '),
            })),
            ['id', 'name', 'status', 'tags', ...(rows.some((rule) => rule.trouble !== undefined) ? ['trouble'] : [])],
          ),
        );
      return 0;
    },
  },
  ...(['start', 'stop', 'restart'] as const).map((verb) =>
    request(`${verb} rule`, `${verb} a rule`, 'POST', (call) => `${rulePath(call)}/${verb}`, { args: [nameArg] }),
  ),
  {
    path: 'getstatus rule',
    args: [nameArg],
    doc: 'show state and metrics of a rule; exit code 1 when an error has stopped it',
    run: async (call) => {
      const answer = await call.client.send('GET', `${rulePath(call)}/status`);
      const status = answer.json as Record<string, unknown> | undefined;
      if (call.isJson || status === undefined) call.print(answer);
      else call.io.out(statusText(status));
      return isFailed(status?.status ?? answer.text) ? 1 : 0;
    },
  },
  look('gettopo rule', 'show the operators of a rule', (call) => `${rulePath(call)}/topo`, topologyText),
];

const pluginCommands: Command[] = [
  {
    path: 'create plugin',
    args: [kindArg, nameArg, { ...jsonArg, isRest: true }],
    flags: [fileFlag, { name: 'zipfile', short: 'zf', value: 'FILE', doc: 'upload this file and install it' }],
    doc: 'install a plugin',
    run: (call) => createPlugin(call, pluginsPath(call)),
  },
  request('describe plugin', 'show a plugin', 'GET', pluginPath, { args: [kindArg, nameArg] }),
  request(
    'drop plugin',
    'remove a plugin',
    'DELETE',
    (call) => pluginPath(call) + (call.flag('stop') === 'true' ? '?stop=1' : ''),
    {
      args: [kindArg, nameArg],
      flags: [{ name: 'stop', short: 's', doc: 'stop the server afterwards' }],
    },
  ),
  request('show plugins', 'list the plugins of a kind', 'GET', pluginsPath, { args: [kindArg] }),
  request(
    'register plugin',
    'register the functions of a plugin: {"functions": ["f"]}',
    'POST',
    (call) => `/plugins/functions/${segment(call.arg('name'))}/register`,
    {
      args: [{ name: 'kind', values: ['function'] }, nameArg, { ...jsonArg, isRest: true }],
      flags: [fileFlag],
      body: (call) => definition(call),
    },
  ),
  request('describe udf', 'show the plugin of a function', 'GET', named1('/plugins/udfs'), { args: [nameArg] }),
  request('show udfs', 'list the functions of plugins', 'GET', '/plugins/udfs'),
];

const lossCommands: Command[] = [
  {
    path: 'show losses',
    doc: 'list what the server has lost and nobody has acknowledged; exit code 1 when there is something',
    run: async (call) => {
      const answer = await call.client.send('GET', '/losses');
      const losses = Array.isArray(answer.json) ? answer.json : [];
      if (call.isJson) call.print(answer);
      else if (losses.length === 0) call.io.out('Nothing is lost\n');
      else {
        const rows = losses.map((loss) => ({ ...loss, found: new Date(loss.time).toISOString() }));
        call.io.out(table(rows, ['id', 'found', 'text']));
      }
      return losses.length === 0 ? 0 : 1;
    },
  },
  {
    path: 'drop loss',
    args: [{ name: 'id', isOptional: true }],
    flags: [{ name: 'all', doc: 'all that are there now' }],
    doc: 'acknowledge a loss',
    run: dropLoss,
  },
];

async function dropLoss(call: Call): Promise<number> {
  const id = call.arg('id');
  const isAll = call.flag('all') === 'true';
  if (isAll === (id !== '')) throw new UsageError('either the id of a loss or --all is needed');
  const losses = isAll ? (await call.client.send('GET', '/losses')).json : [{ id }];
  for (const loss of losses as { id: string }[])
    call.print(await call.client.send('DELETE', `/losses/${segment(loss.id)}`));
  return 0;
}

const otherCommands: Command[] = [
  request('create service', 'register an external service', 'POST', '/services', {
    args: [nameArg, { ...jsonArg, isRest: true }],
    flags: [fileFlag],
    body: (call) => named(definition(call), 'name', call.arg('name')),
  }),
  request('describe service', 'show an external service', 'GET', named1('/services'), { args: [nameArg] }),
  request('drop service', 'remove an external service', 'DELETE', named1('/services'), { args: [nameArg] }),
  request('show services', 'list the external services', 'GET', '/services'),
  request('describe service_func', 'show a function of a service', 'GET', named1('/services/functions'), {
    args: [nameArg],
  }),
  request('show service_funcs', 'list the functions of services', 'GET', '/services/functions'),
  request('create schema', 'create a schema', 'POST', schemasPath, {
    args: [typeArg, nameArg, { ...jsonArg, isRest: true }],
    flags: [fileFlag],
    body: schemaBody,
  }),
  request('describe schema', 'show a schema', 'GET', schemaPath, { args: [typeArg, nameArg] }),
  request('drop schema', 'remove a schema', 'DELETE', schemaPath, { args: [typeArg, nameArg] }),
  request('show schemas', 'list the schemas of a type', 'GET', schemasPath, { args: [typeArg] }),
  request('create script', 'create a JavaScript function', 'POST', '/udf/javascript', {
    args: [{ ...jsonArg, isRest: true }],
    flags: [fileFlag],
    body: (call) => definition(call),
  }),
  request('describe script', 'show a JavaScript function', 'GET', named1('/udf/javascript'), { args: [nameArg] }),
  request('drop script', 'remove a JavaScript function', 'DELETE', named1('/udf/javascript'), { args: [nameArg] }),
  request('show scripts', 'list the JavaScript functions', 'GET', '/udf/javascript'),
];

/** A `.proto` file is taken as the content of the schema, anything else as its JSON definition. */
function schemaBody(call: Call): Record<string, unknown> {
  const file = call.flag('file');
  if (file?.endsWith('.proto')) {
    if (call.arg('json') !== '') throw new UsageError('json and -f exclude each other');
    return { name: call.arg('name'), content: readText(file) };
  }
  return named(definition(call), 'name', call.arg('name'));
}

const transferCommands: Command[] = [
  { path: 'import ruleset', flags: [fileFlag], doc: 'import streams, tables and rules', run: importRuleset },
  {
    path: 'import data',
    flags: [
      fileFlag,
      { name: 'partial', short: 'p', doc: 'merge; without it everything else is removed' },
      { name: 'force', doc: 'remove everything else even when the file has only streams, tables and rules' },
      { name: 'stop', short: 's', doc: 'stop the server afterwards' },
    ],
    doc: 'import a whole configuration, JSON or YAML',
    run: importData,
  },
  {
    path: 'export ruleset',
    args: [{ name: 'file' }],
    doc: 'export streams, tables and rules, - is standard output',
    flags: [secretsFlag],
    run: exportRuleset,
  },
  {
    path: 'export data',
    args: [{ name: 'file' }],
    flags: [
      { name: 'rules', short: 'r', value: 'IDS', doc: 'only these rules and what they need: ["a","b"] or a,b' },
      secretsFlag,
    ],
    doc: 'export the whole configuration, a .yaml file in the second form',
    run: exportData,
  },
  {
    path: 'getstatus import',
    doc: 'show what the last import could not take over; exit code 1 when there is something',
    run: async (call) => {
      const answer = await call.client.send('GET', '/data/import/status');
      const failures = importFailures(answer.json);
      if (call.isJson) call.print(answer);
      else call.io.out(failures.length === 0 ? 'Nothing has failed\n' : table(failures));
      return failures.length === 0 ? 0 : 1;
    },
  },
];

export const commands: readonly Command[] = [
  queryCommand,
  ...sourceCommands('stream'),
  ...sourceCommands('table'),
  ...ruleCommands,
  ...pluginCommands,
  ...lossCommands,
  ...clusterCommands,
  ...fleetCommands,
  ...otherCommands,
  ...transferCommands,
];
