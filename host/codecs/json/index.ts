/** JSON: an object for each row, or an array of them. */
import { field, parse } from '../../base/fields/field.js';
import { defineFormat } from '../define.js';

const decodeProps = {
  colAliasMapping: field
    .map()
    .check((names) =>
      Object.values(names).every((name) => typeof name === 'string' && name !== '')
        ? undefined
        : 'must have the new names of members, as texts, by those in the messages',
    )
    .doc('Of the format `json`: other names for members of the messages, `{"t":"temperature"}`'),
};

export default defineFormat({
  name: 'json',
  doc: 'JSON: an object, or an array of objects, which are rows',
  fileExtension: 'json',
  contentType: 'application/json',
  decode: {
    kernel: 'json',
    host: {
      props: decodeProps,
      settings: ({ props }) => parse(decodeProps, props),
      isNeeded: ({ colAliasMapping = {} }) => Object.keys(colAliasMapping as object).length > 0,
      load: async () => {
        const { RenamedMembers } = await import('./renamed-members.js');
        return ({ colAliasMapping = {} }) => new RenamedMembers(colAliasMapping as Record<string, string>);
      },
    },
  },
  encode: { kernel: 'json' },
});
