{
  "targets": [
    {
      "target_name": "beam",
      "sources": ["addon.cc", "language_model.cc", "model_tables.cc", "packed_model.cc", "prefix_beam_search.cc"],
      "dependencies": ["<!(node -p \"require('node-addon-api').targets\"):node_addon_api_except"],
      # No code can receive an error that occurs while its thread is ending, so such errors must not end the
      # process.
      "defines": ["NAPI_VERSION=8", "NODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS"],
      "cflags_cc": ["-std=c++17", "-O3", "-ffp-contract=off", "-Wall", "-Wextra", "-fvisibility=hidden"],
      "xcode_settings": {
        "CLANG_CXX_LANGUAGE_STANDARD": "c++17",
        "GCC_OPTIMIZATION_LEVEL": "3",
        "OTHER_CPLUSPLUSFLAGS": ["-ffp-contract=off"],
        "MACOSX_DEPLOYMENT_TARGET": "11.0"
      }
    }
  ]
}
