/** What the routes of scripts take and give. */
import {
  boolean,
  changed,
  defineContracts,
  gives,
  integer,
  keptDone,
  made,
  names,
  object,
  orMissing,
  ref,
  string,
} from '../route/contract.js';

export const scripts = defineContracts(
  {
    'POST /udf/javascript': made(ref('Script')),
    'GET /udf/javascript': gives(names),
    'GET /udf/javascript/:id': gives(ref('ScriptDescription')),
    'PUT /udf/javascript/:id': changed(ref('Script')),
    'DELETE /udf/javascript/:id': orMissing(keptDone),
  },
  {
    Script: object(
      { 'id?': string, 'name?': string, 'description?': string, 'script?': string, 'isAgg?': boolean },
      true,
    ),
    ScriptDescription: object(
      { id: string, description: string, script: string, isAgg: boolean, 'memoryBytes?': integer },
      true,
    ),
  },
);
