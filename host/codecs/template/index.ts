/** Messages written by a Go template over the result: the property `dataTemplate` of an action. */
import { field } from '../../base/fields/field.js';
import { defineFormat } from '../define.js';

export default defineFormat({
  name: 'template',
  doc: 'Text by a Go template over the result; an action that has `dataTemplate` has this format',
  encode: {
    reads: 'json',
    props: {
      dataTemplate: field.string().doc('Text of each message, as a Go template over the row: `{"t":{{.temp}}}`'),
    },
    chosenBy: 'dataTemplate',
    selects: true,
    makesRows: true,
    templates: ['dataTemplate'],
    load: async () => {
      const { TemplateEncoder } = await import('./encoder.js');
      return ({ dataTemplate, ...props }, context) => new TemplateEncoder(String(dataTemplate), props, context);
    },
  },
});
