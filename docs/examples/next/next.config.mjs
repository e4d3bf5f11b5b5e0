// Orrery starts threads from its own files, so it must stay a package; a standalone build copies it.
export default { output: "standalone", serverExternalPackages: ["orrery"] };
