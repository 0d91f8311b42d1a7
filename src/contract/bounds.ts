export const maxBodyBytes = 16_384;

/** Maximum size of a sign-in body in bytes. Small, because parsing takes time and callers need no credentials. */
export const maxSignInBytes = 1_024;

export const maxUploadBytes = 1_073_741_824;

/** Maximum size of a preview of an import, in bytes. */
export const maxPreviewBytes = 65_536;

/** Maximum number of mistakes listed in an error. A request of 16 KiB can contain thousands. */
export const maxDetails = 20;
/** Maximum length of a name in an error, in UTF-16 code units. Longer names are truncated. */
export const maxNameLength = 64;
