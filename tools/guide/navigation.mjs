/**
 * The order of the guide: its parts, and the pages of each by their sources. A page may have a shorter title here than
 * above its text. A page of docs/ that stands nowhere is a fault of the build.
 */
export const parts = [
  {
    title: 'Start',
    pages: [
      ['docs/README.md', 'About this guide'],
      ['docs/tutorial.md', 'Tutorial'],
      ['docs/console.md', 'Console'],
    ],
  },
  {
    title: 'How to',
    pages: [
      ['docs/howto/mqtt.md', 'MQTT in and out'],
      'docs/howto/filter.md',
      'docs/howto/averages.md',
      ['docs/howto/lookup.md', 'Lookup tables'],
      ['docs/howto/kafka.md', 'Kafka in and out'],
      ['docs/howto/http.md', 'HTTP in and out'],
      ['docs/howto/late-data.md', 'Event time, late rows'],
      ['docs/howto/exactly-once.md', 'Exactly once'],
      'docs/howto/deduplicate.md',
      'docs/howto/own-function.md',
      'docs/howto/watch.md',
    ],
  },
  {
    title: 'SQL',
    pages: [
      ['docs/sql.md', 'SQL reference'],
      'docs/streams-and-windows.md',
      ['docs/queries.md', 'Derived tables and joins'],
      ['docs/functions.md', 'Functions'],
      'docs/recipes.md',
    ],
  },
  {
    title: 'Connect',
    pages: [
      'docs/connectors.md',
      ['docs/external-services.md', 'External services'],
      ['docs/sdk.md', 'Client for programs'],
      ['docs/api/README.md', 'REST interface'],
    ],
  },
  {
    title: 'Functions of your own',
    pages: [
      ['docs/plugin-tutorial.md', 'Tutorial of plugins'],
      ['docs/wasm-functions.md', 'WebAssembly'],
      ['docs/plugin-abi.md', 'Interface of plugins'],
      ['docs/javascript-functions.md', 'JavaScript'],
      ['docs/portable-plugins.md', 'Portable plugins'],
      ['examples/plugins/README.md', 'Example plugins'],
    ],
  },
  {
    title: 'Run',
    pages: [
      ['docs/install.md', 'Installing'],
      'docs/operating.md',
      'docs/configuration.md',
      ['docs/rule-options.md', 'Rule options'],
      'docs/monitoring.md',
      'docs/security.md',
      ['docs/upgrading.md', 'Restarts and updates'],
      ['docs/resources.md', 'Memory and time'],
      'docs/scaling.md',
      ['docs/cluster.md', 'Clusters'],
      ['docs/fleet.md', 'Many servers'],
    ],
  },
  {
    title: 'Lose nothing',
    pages: [
      'docs/guarantees.md',
      ['docs/slow-sinks.md', 'Slow and absent sinks'],
      ['docs/testing-guarantees.md', 'How it is tested'],
    ],
  },
  {
    title: 'From eKuiper',
    pages: [
      ['docs/moving-from-ekuiper.md', 'Moving'],
      ['docs/differences.md', 'Differences in detail'],
    ],
  },
  {
    title: 'The project',
    pages: [
      'docs/releases.md',
      'docs/glossary.md',
      ['ARCHITECTURE.md', 'Architecture'],
      ['docs/adding.md', 'Adding things'],
      ['docs/decisions/README.md', 'Decisions'],
      ['examples/README.md', 'Examples'],
    ],
  },
];
