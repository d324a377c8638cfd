/** What the guide tells of the declarations: all functions, and the OpenAPI document of the routes. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from '../root.mjs';
import { functionExamples } from './function-examples.mjs';

const entry = `
import { definitions } from './host/functions/gen/index.js';
import { functionDefinitions } from './host/functions/registry.js';
import { libraryFunctions } from './host/plugins/library/functions.js';
import { openApi } from './host/rest/openapi/openapi.js';
import { openApiRoute } from './host/rest/openapi/openapi-route.js';
import { resources } from './host/rest/resources/gen/index.js';
const functions = [...functionDefinitions(), ...libraryFunctions].map(
  ({ name, aliases, category, args, returns, nulls, doc, example }) =>
    ({ name, aliases, category, args, returns, nulls, doc, example }));
const api = await openApi([...resources, { routes: [openApiRoute([], () => '')] }], '');
const declared = definitions.map(({ name, example }) => ({ name, example }));
export default JSON.stringify({ functions, declared, api });
`;

/**
 * Reads the declarations from the sources, which plain Node can't load: as one module made for this. `shown` of a
 * function is its example as a case, where it has one.
 */
export async function readCatalogue() {
  const { build } = await import('esbuild');
  const { outputFiles } = await build({
    absWorkingDir: root,
    stdin: { contents: entry, resolveDir: root, loader: 'ts' },
    bundle: true,
    packages: 'external',
    format: 'esm',
    platform: 'node',
    target: 'node20',
    logLevel: 'warning',
    write: false,
  });
  // Within the checkout, where its packages are found.
  const path = join(root, `node_modules/.cache/haumea/catalogue-${process.pid}.mjs`);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, outputFiles[0].text);
  try {
    const { functions, declared, api } = JSON.parse((await import(pathToFileURL(path).href)).default);
    const examples = functionExamples(declared);
    return { functions: functions.map((one) => ({ ...one, shown: examples.get(one.name) })), api };
  } finally {
    rmSync(path);
  }
}
