declare module '*.md' {
  const text: string;
  export default text;
}
declare module '*.mjs' {
  const text: string;
  export default text;
}
declare module '*.py' {
  const text: string;
  export default text;
}
declare module '*.svg' {
  const text: string;
  export default text;
}
declare module '*.css' {
  const text: string;
  export default text;
}
/** An asset imported `with { type: 'file' }`. The default export is the path of the file. */
declare module '*.gz' {
  const path: string;
  export default path;
}
declare module '*.tgz' {
  const path: string;
  export default path;
}
