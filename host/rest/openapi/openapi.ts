/** The OpenAPI 3.1 document of REST, made from the route tables. */
import { Media, type OneShape, object, ref, type Schema, type Shape, string } from '../route/contract.js';
import type { Resource, Route } from '../route/route.js';

/** Meaning of a refusal, by HTTP status. */
const refusals: Readonly<Record<number, string>> = {
  400: 'The request can not be done; the message names field and reason',
  404: 'Nothing has this id',
  413: 'The body is too large',
  415: 'The body is not of the type that is taken here',
  500: 'The disk did not take the change; nothing has changed',
  503: 'Too many large bodies are being sent, or large rules wait to be planned; try again later',
};
/** Whatever the route. */
const otherFailures = 'A defect of the server';
const tokenless: ReadonlySet<string> = new Set(['/', '/ping']);

export type OpenApi = Readonly<Record<string, unknown>>;

/** The envelope of refusals, whatever the resource. */
const envelope: Readonly<Record<string, Schema>> = {
  Error: object({ error: { type: 'integer', description: 'Code of the kind of failure' }, message: string }),
};

/** Builds the document of the routes. */
export async function openApi(resources: readonly Resource<never>[], version: string): Promise<OpenApi> {
  const schemas = await Promise.all(
    resources.map((one) => (typeof one.schemas === 'function' ? one.schemas() : one.schemas)),
  );
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of resources.flatMap(({ routes }) => routes)) {
    const path = templateOf(route.path);
    paths[path] ??= {};
    paths[path][route.method.toLowerCase()] = operationOf(route);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Haumea',
      version,
      description: 'Streams, rules and everything they need. Errors are JSON with a code and a message.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    // Without authentication no token is needed.
    security: [{}, { token: [] }],
    paths,
    components: {
      schemas: Object.assign({}, envelope, ...schemas),
      securitySchemes: {
        token: {
          type: 'apiKey',
          in: 'header',
          name: 'Authorization',
          description: 'JSON web token, RS256, with or without the word Bearer',
        },
      },
    },
  };
}

function operationOf(route: Route<never>): Record<string, unknown> {
  const { query = {}, request, requestIsOptional = false, answers = {} } = route.contract;
  const names = [...route.path.matchAll(/:(\w+)/g)].map(([, name]) => name as string);
  const parameters = [
    ...names.map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } })),
    ...Object.entries(query).map(([name, description]) => ({
      name,
      in: 'query',
      description,
      schema: { type: 'string' },
    })),
  ];
  const responses: Record<string, unknown> = {};
  const isDescribed = Object.keys(answers).some((status) => Number(status) < 300);
  const own: Readonly<Record<number, Shape>> = isDescribed ? answers : { ...answers, [route.status ?? 200]: true };
  for (const [status, shape] of Object.entries(own)) {
    responses[status] = { description: Number(status) < 300 ? 'Done' : 'Refused', ...contentOf(shape) };
  }
  for (const status of errorsOf(route)) {
    responses[status] ??= { description: refusals[status], ...contentOf(ref('Error')) };
  }
  responses.default = { description: otherFailures, ...contentOf(ref('Error')) };
  if (!tokenless.has(route.path)) {
    responses['401'] = { description: 'The token is missing or wrong', ...contentOf('text/plain') };
    if (mayChange(route)) responses['403'] ??= { description: 'The token may only read', ...contentOf(ref('Error')) };
  }
  return {
    operationId: operationId(route),
    summary: route.doc,
    tags: [
      route.path.split('/')[route.path.startsWith('/v2/') || route.path.startsWith('/async/') ? 2 : 1] || 'system',
    ],
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(request === undefined ? {} : { requestBody: { required: !requestIsOptional, ...contentOf(request) } }),
    ...(tokenless.has(route.path) ? { security: [] } : {}),
    responses,
  };
}

/** Orders, and exports, which hold passwords unless they are told not to. */
function mayChange({ method, path, isOrder }: Route<never>): boolean {
  return method !== 'GET' || isOrder === true || /\/export$/.test(path);
}

/** Without parameters in the path and a body there is nothing to refuse. */
function errorsOf({ path, contract: { request, errors, isKept } }: Route<never>): readonly number[] {
  const hasBody = request !== undefined;
  return [
    ...(errors ?? (hasBody || path.includes(':') ? [400] : [])),
    ...(hasBody ? [413, 503] : []),
    ...(isKept ? [500] : []),
  ];
}

function contentOf(shape: Shape): Record<string, unknown> {
  if (shape === '') return {};
  const shapes = areShapes(shape) ? shape : [shape];
  return { content: Object.fromEntries(shapes.map(mediaOf)) };
}

function areShapes(shape: Shape): shape is readonly OneShape[] {
  return Array.isArray(shape);
}

function mediaOf(shape: OneShape): [type: string, media: Record<string, unknown>] {
  if (shape instanceof Media) return [shape.type, { schema: shape.schema }];
  if (typeof shape === 'string') return [shape, { schema: shape.startsWith('text/') ? { type: 'string' } : {} }];
  return ['application/json', { schema: shape }];
}

function templateOf(path: string): string {
  return path.replace(/:(\w+)/g, '{$1}');
}

function operationId({ method, path }: Route<never>): string {
  const words = path.split(/[^A-Za-z0-9]+/).filter((word) => word !== '');
  return [method.toLowerCase(), ...words.map((word) => word[0]?.toUpperCase() + word.slice(1))].join('');
}
