/** Routes of scripts. */
import type { ScriptService } from '../../services/installed/scripts.js';
import {
  boolean,
  changed,
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
import { defineResource } from '../route/route.js';

export const scripts = defineResource<{ readonly scripts: ScriptService }>({
  routes: [
    {
      method: 'POST',
      path: '/udf/javascript',
      doc: 'Registers a JavaScript function',
      status: 201,
      contract: made(ref('Script')),
      handle: (request, { scripts }) => scripts.create(request.object()),
    },
    {
      method: 'GET',
      path: '/udf/javascript',
      doc: 'Names',
      contract: gives(names),
      handle: (_request, { scripts }) => scripts.names(),
    },
    {
      method: 'GET',
      path: '/udf/javascript/:id',
      doc: 'Script and description',
      contract: gives(ref('ScriptDescription')),
      handle: (request, { scripts }) => scripts.describe(request.id()),
    },
    {
      method: 'PUT',
      path: '/udf/javascript/:id',
      doc: 'Replaces a JavaScript function, or creates it',
      contract: changed(ref('Script')),
      handle: (request, { scripts }) => scripts.put(request.id(), request.object()),
    },
    {
      method: 'DELETE',
      path: '/udf/javascript/:id',
      doc: 'Deletes a JavaScript function',
      contract: orMissing(keptDone),
      handle: (request, { scripts }) => scripts.delete(request.id()),
    },
  ],
  schemas: {
    Script: object(
      { 'id?': string, 'name?': string, 'description?': string, 'script?': string, 'isAgg?': boolean },
      true,
    ),
    ScriptDescription: object(
      { id: string, description: string, script: string, isAgg: boolean, 'memoryBytes?': integer },
      true,
    ),
  },
});
