/** Declares only the functions that are used here. The published types would add three packages. */
declare module 'istanbul-lib-instrument' {
  interface Instrumenter {
    instrumentSync(code: string, path: string): string;
  }
  export function createInstrumenter(options: {
    readonly esModules: boolean;
    readonly parserPlugins: readonly string[];
    readonly coverageVariable: string;
  }): Instrumenter;
}
