/** Schemas that the contracts of connections refer to; read with the OpenAPI document. */
import { boolean, integer, object, objectOfAnything, orNull, type Schema, string } from '../route/contract.js';

export const schemas: Readonly<Record<string, Schema>> = {
  Connection: object(
    {
      id: string,
      typ: string,
      props: orNull(objectOfAnything),
      isNamed: boolean,
      status: string,
      'err?': string,
      'refCount?': integer,
    },
    true,
  ),
  ConnectionDefinition: object({ 'id?': string, 'typ?': string, 'props?': orNull(objectOfAnything) }, true),
};
